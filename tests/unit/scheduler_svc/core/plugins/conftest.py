# SPDX-License-Identifier: Apache-2.0
"""Fixtures of plugin tests."""

import pytest

from scheduler_svc.core import timings
from tests.support.scheduler.outside import PluginInstaller


@pytest.fixture
def plugin_installer(tmp_path, monkeypatch):
    installer = PluginInstaller(tmp_path, monkeypatch)
    yield installer
    installer.unload_modules()


@pytest.fixture(autouse=True)
def empty_timings(monkeypatch):
    """Start each test without timings, which are otherwise kept for the life of the process."""
    monkeypatch.setattr(timings, "_TIMINGS", {})
