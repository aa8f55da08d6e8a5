# SPDX-License-Identifier: Apache-2.0
"""The console script; tests/unit/rpcapi/test_entry.py runs it with and without its packages."""

import importlib.util
import pkgutil

from scheduler_svc.cmd import entry


def test_script_runs_the_daemon_and_returns_its_exit_code(monkeypatch):
    targets = []

    def resolve_name(target):
        targets.append(target)
        return lambda: 3

    monkeypatch.setattr(pkgutil, "resolve_name", resolve_name)
    assert entry.main() == 3
    assert targets == ["scheduler_svc.cmd.scheduler:main"]


def test_missing_package_is_reported_with_the_extra_to_install(monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "redis" else object())
    assert entry.main() == 1
    assert capsys.readouterr().err == "gantt-scheduler: redis is not installed; run: pip install 'gantt[scheduler]'\n"
