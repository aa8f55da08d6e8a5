# SPDX-License-Identifier: Apache-2.0
"""Processes end together, with those they started, and write what only their user may read."""

import os
import signal
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from devstack.servers.process import ServerProcess, start_ticks, stop_together

SECONDS = 30.0
# On SIGTERM: say so, and end well only when the other one, too, was told.
WAITS_FOR_THE_OTHER = (
    "trap 'touch {me}.told; until [ -e {other}.told ]; do sleep 0.02; done; touch {me}.well; exit' TERM; "
    "echo ready; while :; do sleep 0.02; done"
)
# Each worker tells its pid when it is as deaf, or as slow, as it means to be.
DEAF = """sh -c 'trap "" TERM; echo $$ ready; exec sleep 600' & wait"""
SLOW = """sh -c 'trap "sleep 0.2; touch finished; exit" TERM; echo $$ ready; while :; do sleep 0.02; done' & wait"""
Spawn = Callable[[str, str], ServerProcess]


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Spawn]:
    made: list[ServerProcess] = []

    def start(name: str, script: str) -> ServerProcess:
        process = ServerProcess(name, tmp_path / f"{name}.pid", tmp_path / f"{name}.log")
        made.append(process)
        process.spawn(["sh", "-c", script], os.environ, tmp_path)
        process.wait_ready(lambda: "ready" in process.log.read_text(), SECONDS)
        return process

    yield start
    for process in made:
        process.kill()


def worker(process: ServerProcess) -> int:
    return int(process.log.read_text().split()[0])


def until_gone(pid: int) -> None:
    deadline = time.monotonic() + SECONDS
    while start_ticks(pid) is not None:
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.02)


def test_all_are_asked_before_one_is_waited_for(spawn: Spawn, tmp_path: Path) -> None:
    one = spawn("one", WAITS_FOR_THE_OTHER.format(me="one", other="two"))
    two = spawn("two", WAITS_FOR_THE_OTHER.format(me="two", other="one"))
    stop_together([one, two], SECONDS)
    assert (one.pid, two.pid) == (None, None)
    assert {path.name for path in tmp_path.glob("*.well")} == {"one.well", "two.well"}
    assert not list(tmp_path.glob("*.pid"))


@pytest.mark.parametrize(
    "leader",
    [f"trap '' TERM; {DEAF}", DEAF],
    ids=["with its deaf leader", "after its leader"],
)
def test_a_worker_that_stays_is_ended_when_the_time_is_over(spawn: Spawn, leader: str) -> None:
    process = spawn("daemon", leader)
    left = worker(process)
    assert start_ticks(left) is not None
    process.stop(0.2)
    assert process.pid is None
    until_gone(left)


def test_a_worker_that_takes_its_time_is_given_it(spawn: Spawn, tmp_path: Path) -> None:
    process = spawn("daemon", SLOW)
    left = worker(process)
    process.stop(SECONDS)
    assert (tmp_path / "finished").exists()
    assert start_ticks(left) is None


def test_a_worker_whose_leader_was_killed_before_is_ended(spawn: Spawn, tmp_path: Path) -> None:
    process = spawn("daemon", DEAF)
    left, leader = worker(process), process.pid
    assert leader is not None
    os.kill(leader, signal.SIGKILL)
    until_gone(leader)
    process.stop(0.2)
    until_gone(left)


def test_a_group_of_that_number_elsewhere_is_left_alone(spawn: Spawn, tmp_path: Path) -> None:
    process = spawn("daemon", f"cd /; {DEAF}")
    left, leader = worker(process), process.pid
    assert leader is not None
    os.kill(leader, signal.SIGKILL)
    until_gone(leader)
    process.stop(0.2)
    assert start_ticks(left) is not None
    os.kill(left, signal.SIGKILL)


def test_one_that_does_not_run_is_no_obstacle(spawn: Spawn, tmp_path: Path) -> None:
    absent = ServerProcess("absent", tmp_path / "absent.pid", tmp_path / "absent.log")
    present = spawn("present", "echo ready; exec sleep 600")
    stop_together([absent, present], SECONDS)
    assert present.pid is None


def test_what_it_writes_only_its_user_may_read(spawn: Spawn, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        spawn("writer", "mkdir made; echo 1 > made/file; echo ready; exec sleep 600")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {"made": 0o700, "file": 0o600, "writer.log": 0o600, "writer.pid": 0o600}
