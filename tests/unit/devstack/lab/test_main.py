# SPDX-License-Identifier: Apache-2.0
"""A terminated lab leaves no processes and files."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from devstack.servers.process import start_ticks
from tests.unit.devstack.lab import asking


def poll(ready, seconds=60.0):
    """Wait until ``ready()`` is true; fail when that takes too long."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not ready():
        assert time.monotonic() < deadline, "the awaited condition did not become true"
        pause.wait(0.05)


def children(pid):
    """Return the child processes of a process."""
    return {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


# A race is running when there are its server, a worker, and multiprocessing's resource tracker.
@pytest.mark.parametrize(("arguments", "processes"), [(["claim"], 1), (["race", "--hosts", "300"], 3)])
def test_termination_ends_servers_and_workers(arguments, processes, run_folder):
    # Given a running measurement
    lab = subprocess.Popen(
        [sys.executable, "-m", "devstack.lab", *arguments],
        env={**os.environ, "TMPDIR": str(run_folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    poll(lambda: any(run_folder.glob("gantt-lab-*/redis.sock")) and len(children(lab.pid)) >= processes)
    child_pids = children(lab.pid)
    # When it is terminated
    lab.send_signal(signal.SIGTERM)
    # Then it ends with its processes and removes their folder
    assert lab.wait(60) == 128 + signal.SIGTERM
    poll(lambda: not any(start_ticks(pid) for pid in child_pids))
    assert not any(run_folder.glob("gantt-lab-*"))


def test_help_lists_the_benchmarks():
    code, out, _ = asking.run("help")
    assert code == 0
    for arguments in ("claim", "decide", "moves", "peers", "race", "replay", "shadow"):
        assert f"  {arguments}" in out
