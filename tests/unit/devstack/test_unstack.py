# SPDX-License-Identifier: Apache-2.0
"""A run folder of ours that no longer tells its cluster is cleared away by what its pid files name."""

import os
from pathlib import Path

import pytest

from devstack import stack, unstack
from devstack.servers.process import ServerProcess

BROKEN = ["{", "", "[]", "7", "{}", '{"mode": "imaginary"}', '{"mode": "embedded", "colour": "red"}', "\x00"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    made = tmp_path / "run"
    for path in (made, made / "store", made / "log"):
        path.mkdir(mode=0o700)
    monkeypatch.setenv("GANTT_RUN", str(made))
    return made


@pytest.mark.parametrize("card", BROKEN)
def test_a_broken_card_is_told_by_stack_and_cleared_by_unstack(folder: Path, capsys, card: str) -> None:
    # Given a daemon and a server of a cluster whose card was cut short
    pid_files = (folder / "compute.pid", folder / "store" / "redis.pid")
    processes = [ServerProcess(path.stem, path, folder / "log" / path.stem) for path in pid_files]
    for process in processes:
        process.spawn(["sleep", "600"], os.environ, folder)
    (folder / "cluster.json").write_text(card)
    try:
        # Then nothing is started beside them, and it is said how to go on
        assert stack.main([]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert "cluster.json" in line
        assert "unstack.sh" in line
        assert all(process.pid for process in processes)
        # And the other script ends them and removes the folder
        assert unstack.main() == 0
        assert "Stopped compute, redis" in capsys.readouterr().out
        assert [process.pid for process in processes] == [None, None]
        assert not folder.exists()
    finally:
        for process in processes:
            process.kill()


def test_a_broken_card_beside_somebody_elses_work_is_left_alone(folder: Path, capsys) -> None:
    (folder / "cluster.json").write_text("{")
    (folder / "thesis").write_text("years of work")
    assert unstack.main() == 1
    assert "thesis" in capsys.readouterr().err
    assert (folder / "thesis").read_text() == "years of work"
