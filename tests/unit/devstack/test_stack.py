# SPDX-License-Identifier: Apache-2.0
"""What stack.sh says of a cluster that is there already, and of options that make no sense."""

import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from devstack import stack
from devstack.cluster import Cluster, Mode, Shape
from devstack.servers.process import ServerProcess

PARTS = ["store", "bus", "scheduler", "conductor", "compute"]


@pytest.fixture
def parts(tmp_path: Path, monkeypatch) -> Iterator[dict[str, ServerProcess]]:
    """A default cluster's folder, in which each part is a process that only sleeps."""
    folder = tmp_path / "run"
    monkeypatch.setenv("GANTT_RUN", str(folder))
    cluster = Cluster(folder, Shape())
    cluster.layout.make()
    cluster.layout.write_card(asdict(cluster.shape))
    made = dict(cluster.daemons)
    for name in ("store", "bus"):
        server = folder / name
        server.mkdir(mode=0o700)
        made[name] = ServerProcess(name, server / "redis.pid", server / "redis.log")
    for process in made.values():
        process.spawn(["sleep", "600"], os.environ, folder)
    yield made
    for process in made.values():
        process.kill()


def test_a_whole_one_is_up(parts, capsys) -> None:
    assert stack.main([]) == 0
    said = capsys.readouterr()
    assert f"already up: {', '.join(PARTS)}." in said.out
    assert "asked for" not in said.out
    assert said.err == ""


@pytest.mark.parametrize("part", PARTS)
def test_one_that_lost_a_part_is_not_and_it_is_said_how_to_go_on(parts, capsys, part: str) -> None:
    parts[part].kill()
    assert stack.main([]) == 1
    said = capsys.readouterr()
    assert "already up" not in said.out
    (line,) = said.err.splitlines()
    assert f"not whole: {part} ended" in line
    assert "unstack.sh, then stack.sh again" in line
    still = [name for name in PARTS if parts[name].pid]
    assert still == [name for name in PARTS if name != part]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (["--standard"], "not the standard cluster"),
        (["--computes", "3"], "30 nodes on 3 service hosts"),
        (["--schedulers", "4"], "not the embedded cluster (4 scheduler workers"),
    ],
)
def test_one_of_another_mode_or_size_is_told_apart(parts, capsys, options: list[str], wanted: str) -> None:
    assert stack.main(options) == 0
    said = capsys.readouterr().out
    assert "It is the embedded cluster (2 scheduler workers, 1 conductor, 100 nodes on 10 service hosts)" in said
    assert wanted in said


def test_mode_and_size_are_kept_in_the_folder(tmp_path: Path) -> None:
    shape = Shape(mode=Mode.EMBEDDED, computes=4, schedulers=3)
    cluster = Cluster(tmp_path / "run", shape)
    cluster.layout.make()
    cluster.layout.write_card(asdict(shape))
    found = Cluster.find(tmp_path / "run")
    assert found is not None
    assert found.shape == shape


@pytest.mark.parametrize("text", ["0", "-1", "100001", "many", "1.5", "", "1_0", "٣", "9" * 5000])
@pytest.mark.parametrize("option", ["--computes", "--servers", "--schedulers", "--amqp-port", "--redis-port"])
def test_a_number_that_makes_no_sense_is_told_in_a_sentence(capsys, option: str, text: str) -> None:
    with pytest.raises(SystemExit) as left:
        stack.main([f"{option}={text}"])
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert f"{text!r} is not a " in said
    assert "invalid" not in said
