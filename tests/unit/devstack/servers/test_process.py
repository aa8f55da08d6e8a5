# SPDX-License-Identifier: Apache-2.0
"""Processes are stopped together with their process groups, and their files are private."""

import os
import signal
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from devstack.servers.process import ServerProcess, start_ticks, stop_together

SECONDS = 30.0
# On SIGTERM: leave a mark, and end cleanly only when the other process has left its mark too.
WAITS_FOR_OTHER = (
    "trap 'touch {me}.signalled; until [ -e {other}.signalled ]; do sleep 0.02; done; touch {me}.well; exit' TERM; "
    "echo ready; while :; do sleep 0.02; done"
)
# Each worker prints its pid when its signal handling is set up.
IGNORES_SIGTERM = """sh -c 'trap "" TERM; echo $$ ready; exec sleep 600' & wait"""
SLOW = """sh -c 'trap "sleep 0.2; touch finished; exit" TERM; echo $$ ready; while :; do sleep 0.02; done' & wait"""
Spawn = Callable[[str, str], ServerProcess]


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Spawn]:
    processes: list[ServerProcess] = []

    def start(name: str, script: str) -> ServerProcess:
        process = ServerProcess(name, tmp_path / f"{name}.pid", tmp_path / f"{name}.log")
        processes.append(process)
        process.spawn(["sh", "-c", script], os.environ, tmp_path)
        process.wait_ready(lambda: "ready" in process.log.read_text(), SECONDS)
        return process

    yield start
    for process in processes:
        process.kill()


def worker(process: ServerProcess) -> int:
    return int(process.log.read_text().split()[0])


def wait_exit(pid: int) -> None:
    deadline = time.monotonic() + SECONDS
    while start_ticks(pid) is not None:
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.02)


def test_all_processes_are_signalled_before_waiting(spawn: Spawn, tmp_path: Path) -> None:
    first = spawn("one", WAITS_FOR_OTHER.format(me="one", other="two"))
    second = spawn("two", WAITS_FOR_OTHER.format(me="two", other="one"))
    stop_together([first, second], SECONDS)
    assert (first.pid, second.pid) == (None, None)
    assert {path.name for path in tmp_path.glob("*.well")} == {"one.well", "two.well"}
    assert not list(tmp_path.glob("*.pid"))


@pytest.mark.parametrize(
    "leader",
    [f"trap '' TERM; {IGNORES_SIGTERM}", IGNORES_SIGTERM],
    ids=["leader ignores SIGTERM", "leader ends first"],
)
def test_worker_that_ignores_sigterm_is_killed_after_the_timeout(spawn: Spawn, leader: str) -> None:
    process = spawn("daemon", leader)
    worker_pid = worker(process)
    assert start_ticks(worker_pid) is not None
    process.stop(0.2)
    assert process.pid is None
    wait_exit(worker_pid)


def test_slow_worker_may_finish(spawn: Spawn, tmp_path: Path) -> None:
    process = spawn("daemon", SLOW)
    worker_pid = worker(process)
    process.stop(SECONDS)
    assert (tmp_path / "finished").exists()
    assert start_ticks(worker_pid) is None


def test_worker_of_a_killed_leader_is_stopped(spawn: Spawn, tmp_path: Path) -> None:
    process = spawn("daemon", IGNORES_SIGTERM)
    worker_pid, leader = worker(process), process.pid
    assert leader is not None
    os.kill(leader, signal.SIGKILL)
    wait_exit(leader)
    process.stop(0.2)
    wait_exit(worker_pid)


def test_unrelated_group_with_the_same_number_is_not_signalled(spawn: Spawn, tmp_path: Path) -> None:
    process = spawn("daemon", f"cd /; {IGNORES_SIGTERM}")
    worker_pid, leader = worker(process), process.pid
    assert leader is not None
    os.kill(leader, signal.SIGKILL)
    wait_exit(leader)
    process.stop(0.2)
    assert start_ticks(worker_pid) is not None
    os.kill(worker_pid, signal.SIGKILL)


def test_stop_ignores_processes_that_do_not_run(spawn: Spawn, tmp_path: Path) -> None:
    absent = ServerProcess("absent", tmp_path / "absent.pid", tmp_path / "absent.log")
    present = spawn("present", "echo ready; exec sleep 600")
    stop_together([absent, present], SECONDS)
    assert present.pid is None


def test_files_of_a_process_are_private(spawn: Spawn, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        spawn("writer", "mkdir made; echo 1 > made/file; echo ready; exec sleep 600")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {"made": 0o700, "file": 0o600, "writer.log": 0o600, "writer.pid": 0o600}
