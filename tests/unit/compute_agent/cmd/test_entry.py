# SPDX-License-Identifier: Apache-2.0
"""The console script gantt-compute."""

import pkgutil
import sys

import pytest

from compute_agent.cmd import compute, entry


def test_script_runs_the_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute, "main", lambda: 3)
    assert entry.main() == 3


def test_missing_package_names_the_extra_of_the_agent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def resolve(name: str) -> None:
        raise ModuleNotFoundError("No module named 'oslo_log'", name="oslo_log")

    monkeypatch.setattr(pkgutil, "resolve_name", resolve)
    monkeypatch.setattr(sys, "argv", ["gantt-compute"])
    assert entry.main() == 1
    assert capsys.readouterr().err == "gantt-compute: oslo_log is not installed; run: pip install 'gantt[compute]'\n"
