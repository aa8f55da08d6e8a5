# SPDX-License-Identifier: Apache-2.0
"""Lifetime of servers, which end with the process that started them, however it ends."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

WATCH = "devstack.servers.watch_owner"
PACKAGES = str(Path(__file__).resolve().parents[2])


class OwnerWatch:
    """Process that ends this process's servers after its end, even by SIGKILL.

    PR_SET_PDEATHSIG would act when the starting thread ends, and only on each server's first process.
    """

    def __init__(self) -> None:
        self.owner = os.getpid()
        reading, self._writing = os.pipe()
        self._process = subprocess.Popen(  # noqa: S603 - a fixed command, no shell
            [sys.executable, "-S", "-m", WATCH, str(self.owner)],  # starts faster without site-packages
            env={**os.environ, "PYTHONPATH": PACKAGES},
            cwd="/",
            stdin=reading,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(reading)

    @property
    def running(self) -> bool:
        """Whether the watch runs for this process, not for its parent before a fork."""
        return self.owner == os.getpid() and self._process.poll() is None

    def add(self, pid: int, pid_file: Path) -> None:
        """End a server with the owner, if the pid file still names it."""
        os.write(self._writing, f"{json.dumps([pid, str(pid_file.absolute())])}\n".encode())

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._writing)


_watch: OwnerWatch | None = None
_lock = threading.Lock()


def bind(pid: int, pid_file: Path) -> None:
    """Make a server that this process started end with it."""
    global _watch  # noqa: PLW0603 - there is one owner, this process
    with _lock:
        if _watch is None or not _watch.running:
            _watch = OwnerWatch()
        _watch.add(pid, pid_file)


def release() -> None:
    """Let all servers that this process has started outlive it."""
    global _watch  # noqa: PLW0603 - there is one owner, this process
    with _lock:
        if _watch is not None and _watch.running:
            _watch.stop()
        _watch = None
