# SPDX-License-Identifier: Apache-2.0
"""The console script gantt-conductor."""

import importlib.util

import pytest

from conductor.cmd import conductor, entry


def test_script_runs_the_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conductor, "main", lambda: 3)
    assert entry.main() == 3


def test_missing_redis_library_names_the_extra_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(conductor, "main", lambda: pytest.fail("the daemon was started"))
    assert entry.main() == 1
    assert capsys.readouterr().err == "gantt-conductor: redis is not installed; run: pip install 'gantt[conductor]'\n"
