# SPDX-License-Identifier: Apache-2.0
"""What the lab leaves behind when it is told to stop: nothing."""

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
    """Return when ``ready``; fail when that takes too long."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not ready():
        assert time.monotonic() < deadline, "what the test waits for did not happen"
        pause.wait(0.05)


def children(pid):
    """Return the process's children."""
    return {int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


# A race is under way when beside its server a worker runs, and what watches over what workers share.
@pytest.mark.parametrize(("question", "processes"), [(["claim"], 1), (["race", "--hosts", "300"], 3)])
def test_ends_its_servers_and_workers_when_it_is_terminated(question, processes, run_folder):
    # Given a measurement that is under way
    lab = subprocess.Popen(
        [sys.executable, "-m", "devstack.lab.main", *question],
        env={**os.environ, "TMPDIR": str(run_folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    poll(lambda: any(run_folder.glob("gantt-lab-*/redis.sock")) and len(children(lab.pid)) >= processes)
    begotten = children(lab.pid)
    # When it is told to stop
    lab.send_signal(signal.SIGTERM)
    # Then it does so at once, and takes its processes and their folder along
    assert lab.wait(60) == 128 + signal.SIGTERM
    poll(lambda: not any(start_ticks(pid) for pid in begotten))
    assert not any(run_folder.glob("gantt-lab-*"))


def test_says_what_there_is_to_ask():
    code, out, _ = asking.run("help")
    assert code == 0
    for question in ("claim", "decide", "peers", "race", "replay", "shadow"):
        assert f"  {question}" in out
