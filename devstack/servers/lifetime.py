# SPDX-License-Identifier: Apache-2.0
"""Lifetime of servers: they end with their owner, the process that started them, however that ends."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

WATCH = "devstack.servers.watch_owner"
PACKAGES = str(Path(__file__).resolve().parents[2])


class OwnerWatch:
    """A process that ends the servers of this process when this process has ended, even by SIGKILL.

    PR_SET_PDEATHSIG would end them with the thread that started them, and only the first process of each.
    """

    def __init__(self) -> None:
        self.owner = os.getpid()
        reading, self._writing = os.pipe()
        self._process = subprocess.Popen(  # noqa: S603 - a fixed command, no shell
            [sys.executable, "-S", "-m", WATCH, str(self.owner)],  # no site-packages: it starts faster
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
        """Whether it watches this process, not one that this process was forked from."""
        return self.owner == os.getpid() and self._process.poll() is None

    def add(self, pid: int, pid_file: Path) -> None:
        """End this server, while the pid file names it."""
        os.write(self._writing, f"{json.dumps([pid, str(pid_file.absolute())])}\n".encode())

    def stop(self) -> None:
        """End the watch, and none of the servers."""
        self._process.kill()
        self._process.wait()
        os.close(self._writing)


_watch: OwnerWatch | None = None
_lock = threading.Lock()


def bind(pid: int, pid_file: Path) -> None:
    """Let a server that this process started end with this process."""
    global _watch  # noqa: PLW0603 - there is one owner, this process
    with _lock:
        if _watch is None or not _watch.running:
            _watch = OwnerWatch()
        _watch.add(pid, pid_file)


def release() -> None:
    """Let all servers that this process has started so far outlive it."""
    global _watch  # noqa: PLW0603 - there is one owner, this process
    with _lock:
        if _watch is not None and _watch.running:
            _watch.stop()
        _watch = None
