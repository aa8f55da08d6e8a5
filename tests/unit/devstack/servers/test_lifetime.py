# SPDX-License-Identifier: Apache-2.0
"""Servers end with the process that started them, unless it releases them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from devstack.servers import watch_owner
from devstack.servers.process import ServerProcess, start_ticks

REPOSITORY = Path(__file__).resolve().parents[4]
SECONDS = 60.0
# The leader ignores SIGTERM and has a worker, as RabbitMQ's script has. The thread that starts them ends at once.
OWNER = """
import os, pathlib, sys, threading, time
from devstack.servers import lifetime
from devstack.servers.process import ServerProcess
folder = pathlib.Path(sys.argv[1])
server = ServerProcess("server", folder / "server.pid", folder / "server.log")
script = "trap '' TERM; sleep 600 & echo $!; wait; wait"
starter = threading.Thread(target=server.spawn, args=(["sh", "-c", script], os.environ, folder))
starter.start()
starter.join()
server.wait_ready(lambda: server.log.read_text().endswith("\\n"), 60)
{then}
print(server.pid, flush=True)
time.sleep(600)
"""


@contextmanager
def killed_owner(folder: Path, then: str = "") -> Iterator[tuple[int, int]]:
    """Kill an owner that has also executed ``then``; yields the pids of its server and of the server's worker."""
    command = [sys.executable, "-c", OWNER.format(then=then), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY) as owner:
        assert owner.stdout is not None
        leader = int(owner.stdout.readline())
        worker = int((folder / "server.log").read_text())
        assert start_ticks(leader) and start_ticks(worker)
        owner.kill()
    try:
        yield leader, worker
    finally:
        ServerProcess("server", folder / "server.pid", folder / "server.log").stop(0)


def wait_until(ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not ready():
        assert time.monotonic() < deadline, "the awaited condition did not become true"
        time.sleep(0.02)


def test_server_and_its_workers_end_when_their_owner_is_killed(tmp_path: Path) -> None:
    with killed_owner(tmp_path) as pids:
        wait_until(lambda: not any(start_ticks(pid) for pid in pids))
        wait_until(lambda: not (tmp_path / "server.pid").exists())


def test_fork_of_the_owner_keeps_no_server(tmp_path: Path) -> None:
    """It has inherited the pipe to the watch."""
    fork = "fork = os.fork()\nif not fork: time.sleep(600)\n(folder / 'fork').write_text(str(fork))"
    with killed_owner(tmp_path, fork) as pids:
        wait_until(lambda: not any(start_ticks(pid) for pid in pids))
        os.kill(int((tmp_path / "fork").read_text()), signal.SIGKILL)


def test_released_server_outlives_its_owner(tmp_path: Path) -> None:
    released = "watch = lifetime._watch._process.pid\nlifetime.release()\n(folder / 'watch').write_text(str(watch))"
    with killed_owner(tmp_path, released) as pids:
        assert start_ticks(int((tmp_path / "watch").read_text())) is None  # nothing is left that could end the server
        assert all(start_ticks(pid) for pid in pids)


def test_server_of_a_later_owner_is_left_alone(tmp_path: Path) -> None:
    """The pid file of a stopped server now belongs to one that another process started."""
    later = ServerProcess("later", tmp_path / "later.pid", tmp_path / "later.log")
    later.spawn(["sleep", "600"], os.environ, tmp_path)
    try:
        watch_owner.end_servers([(1, later.pid_file)])
        assert later.pid is not None
    finally:
        later.kill()
