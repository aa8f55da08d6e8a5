# SPDX-License-Identifier: Apache-2.0
"""A place for distributions from outside."""

import pytest

from scheduler_svc.plugins import figures
from tests.unit.scheduler_svc.plugins.outside import Outside


@pytest.fixture
def outside(tmp_path, monkeypatch):
    made = Outside(tmp_path, monkeypatch)
    yield made
    made.forget()


@pytest.fixture(autouse=True)
def no_figures(monkeypatch):
    """Begin to count anew: figures are kept for the life of a process."""
    monkeypatch.setattr(figures, "_KEPT", {})
