# SPDX-License-Identifier: Apache-2.0
"""The lab as a process of its own, told to stop while it works."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from devstack.servers.process import start_ticks

ENDS_SECONDS = 30.0


def poll(ready: Callable[[], bool], seconds: float = 60.0) -> None:
    """Return when ``ready``; fail when that takes too long."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not ready():
        assert time.monotonic() < deadline, "what the test waits for did not happen"
        pause.wait(0.05)


def descendants(pid: int) -> set[int]:
    """Return the processes that a process begot, and theirs."""
    with contextlib.suppress(OSError):
        children = {int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
        return children.union(*map(descendants, children))
    return set()


@contextlib.contextmanager
def running_lab(folder: Path, *argv: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Run the lab with ``folder`` for what it leaves on disk; end it with all it begot whatever happens."""
    lab = subprocess.Popen(
        [sys.executable, "-m", "devstack.lab.main", *argv],
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield lab
    finally:
        for pid in {lab.pid, *descendants(lab.pid)}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        lab.wait(10)


def assert_clean_termination(lab: "subprocess.Popen[bytes]", folder: Path) -> None:
    """Tell the lab to stop; it must do so soon, and take its processes and their folder along."""
    begotten = descendants(lab.pid)
    assert begotten, "it must have something to leave behind"
    lab.send_signal(signal.SIGTERM)
    assert lab.wait(ENDS_SECONDS) == 128 + signal.SIGTERM
    poll(lambda: not any(start_ticks(pid) for pid in begotten), 10)
    assert not any(folder.glob("gantt-lab-*"))
