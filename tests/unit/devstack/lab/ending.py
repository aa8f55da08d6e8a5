# SPDX-License-Identifier: Apache-2.0
"""Runs the lab as a process and terminates it during a measurement."""

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

ENDS_SECONDS = 60.0


def poll(ready: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until ``ready()`` is true; fail when that takes too long."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not ready():
        assert time.monotonic() < deadline, "the awaited condition did not become true"
        pause.wait(0.05)


def descendants(pid: int) -> set[int]:
    """Return all descendants of a process."""
    with contextlib.suppress(OSError):
        children = {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
        return children.union(*map(descendants, children))
    return set()


@contextlib.contextmanager
def running_lab(folder: Path, *argv: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Run the lab with ``folder`` for temporary files; kill it and its descendants at the end."""
    lab = subprocess.Popen(
        [sys.executable, "-m", "devstack.lab", *argv],
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
    """Send SIGTERM to the lab and check that it ends with all its processes and removes its folder."""
    children = descendants(lab.pid)
    assert children, "it must have child processes"
    lab.send_signal(signal.SIGTERM)
    assert lab.wait(ENDS_SECONDS) == 128 + signal.SIGTERM
    poll(lambda: not any(start_ticks(pid) for pid in children), 10)
    assert not any(folder.glob("gantt-lab-*"))
