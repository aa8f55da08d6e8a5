# SPDX-License-Identifier: Apache-2.0
"""A run folder without a readable record is cleaned up by its pid files."""

import os
from dataclasses import asdict
from pathlib import Path

import pytest

from devstack import stack, unstack
from devstack.cluster_size import ClusterSize
from devstack.layout import Layout
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
        assert unstack.main([]) == 0
        assert "Stopped compute, redis" in capsys.readouterr().out
        assert [process.pid for process in processes] == [None, None]
        assert not folder.exists()
    finally:
        for process in processes:
            process.kill()


def test_running_stack_is_interrupted_first(folder: Path, capsys) -> None:
    # Given a stack.sh that waits for its cluster
    size = ClusterSize()
    Layout(folder).write_cluster_record(asdict(size))
    starter = Layout(folder).starter
    marker = folder.with_name("interrupted")
    script = f"trap 'touch {marker}; exit' TERM; echo ready; while :; do sleep 0.02; done"
    starter.spawn(["sh", "-c", script], os.environ, folder)
    starter.wait_ready(lambda: "ready" in starter.log.read_text(), 30.0)
    # Then it receives SIGTERM and has ended when the folder is removed
    assert unstack.main([]) == 0
    assert marker.exists()
    assert starter.pid is None
    assert not folder.exists()


@pytest.mark.parametrize("arguments", [["--help"], ["--all"], ["now"]])
def test_any_argument_stops_nothing(folder: Path, arguments: list[str]) -> None:
    # Given a broken record, with which unstack.sh would remove the folder
    (folder / "cluster.json").write_text("{")
    with pytest.raises(SystemExit) as exit_info:
        unstack.main(arguments)
    assert exit_info.value.code == (0 if arguments == ["--help"] else 2)
    assert folder.exists()


def test_broken_record_beside_foreign_files_is_kept(folder: Path, capsys) -> None:
    (folder / "cluster.json").write_text("{")
    (folder / "thesis").write_text("years of work")
    assert unstack.main([]) == 1
    assert "thesis" in capsys.readouterr().err
    assert (folder / "thesis").read_text() == "years of work"
