# SPDX-License-Identifier: Apache-2.0
"""A run folder without a readable record is cleaned up by its pid files."""

import os
from pathlib import Path

import pytest

from devstack import stack, unstack
from devstack.servers.process import ServerProcess

BROKEN = ["{", "", "[]", "7", "{}", '{"mode": "imaginary"}', '{"mode": "embedded", "colour": "red"}', "\x00"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    run_folder = tmp_path / "run"
    for path in (run_folder, run_folder / "store", run_folder / "log"):
        path.mkdir(mode=0o700)
    monkeypatch.setenv("GANTT_RUN", str(run_folder))
    return run_folder


@pytest.mark.parametrize("record", BROKEN)
def test_broken_record_is_reported_by_stack_and_removed_by_unstack(folder: Path, capsys, record: str) -> None:
    # Given a daemon and a server of a cluster with a truncated record
    pid_files = (folder / "compute.pid", folder / "store" / "redis.pid")
    processes = [ServerProcess(path.stem, path, folder / "log" / path.stem) for path in pid_files]
    for process in processes:
        process.spawn(["sleep", "600"], os.environ, folder)
    (folder / "cluster.json").write_text(record)
    try:
        # Then stack.sh starts nothing and says what to do
        assert stack.main([]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert "cluster.json" in line
        assert "unstack.sh" in line
        assert all(process.pid for process in processes)
        # And unstack.sh stops them and removes the folder
        assert unstack.main() == 0
        assert "Stopped compute, redis" in capsys.readouterr().out
        assert [process.pid for process in processes] == [None, None]
        assert not folder.exists()
    finally:
        for process in processes:
            process.kill()


def test_broken_record_beside_foreign_files_is_kept(folder: Path, capsys) -> None:
    (folder / "cluster.json").write_text("{")
    (folder / "thesis").write_text("years of work")
    assert unstack.main() == 1
    assert "thesis" in capsys.readouterr().err
    assert (folder / "thesis").read_text() == "years of work"
