# SPDX-License-Identifier: Apache-2.0
"""One server process, known by its pid and its start time, so that nobody else's process is ever ended."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from devstack.servers.errors import AlreadyRunning, NotReady, ServerError
from devstack.servers.folder import write_private

POLL = 0.02
LOG_TAIL = 800


def start_ticks(pid: int) -> int | None:
    """When the process started, in clock ticks since boot; None when it is gone or nothing but a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command's name, in parentheses, may itself hold spaces and parentheses.
    fields = stat.rpartition(")")[2].split()
    state, threads, started = fields[0], int(fields[17]), int(fields[19])
    # A dead leader whose threads still end holds its sockets: such a process is not gone yet.
    return None if state in "ZX" and threads <= 1 else started


class ServerProcess:
    """A background process of a run folder; its pid file lets a later program find and end it.

    `name` is for messages, `pid_file` the record of the running process, `log` takes its output.
    """

    def __init__(self, name: str, pid_file: Path, log: Path) -> None:
        self.name = name
        self.pid_file = pid_file
        self.log = log
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The live process's id, or None: a pid that now belongs to another program counts as None."""
        self._reap()
        try:
            record = json.loads(self.pid_file.read_text())
            pid, recorded = record["pid"], record["start_ticks"]
        except (OSError, ValueError, TypeError, KeyError):
            # No file, or one that is not ours: other programs leave bare numbers in files named so.
            return None
        started = start_ticks(pid)
        return int(pid) if started is not None and started == recorded else None

    def require_stopped(self) -> None:
        """Raise AlreadyRunning when the process is up."""
        pid = self.pid
        if pid is not None:
            raise AlreadyRunning(f"{self.name} is already running with pid {pid} in {self.pid_file.parent}.")

    def spawn(self, command: Sequence[str], env: Mapping[str, str], cwd: Path) -> None:
        """Start the command in a session of its own. Raises AlreadyRunning, or ServerError when it cannot."""
        self.require_stopped()
        try:
            with self.log.open("ab") as output:
                self._child = subprocess.Popen(  # noqa: S603 - the command is our own, no shell reads it
                    command,
                    env=dict(env),
                    cwd=cwd,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as why:
            raise ServerError(f"{self.name} cannot be started: {why}.") from why
        pid = self._child.pid
        write_private(self.pid_file, json.dumps({"pid": pid, "start_ticks": start_ticks(pid)}))

    def wait_ready(self, ready: Callable[[], bool], seconds: float) -> None:
        """Return when `ready()` is true. Raises NotReady when the process ends or the seconds pass."""
        deadline = time.monotonic() + seconds
        while not ready():
            if self.pid is None:
                raise NotReady(f"{self.name} ended while it was starting. {self._log_tail()}")
            if time.monotonic() > deadline:
                raise NotReady(f"{self.name} did not answer within {seconds:g} s. {self._log_tail()}")
            time.sleep(POLL)

    def stop(self, seconds: float) -> None:
        """End the process politely, by force after so many seconds; fine when it is not running."""
        self.signal(signal.SIGTERM)
        if not self._gone_within(seconds):
            self.kill()
        self.pid_file.unlink(missing_ok=True)

    def kill(self) -> None:
        """End the process with SIGKILL and wait until it is gone. Raises ServerError when it stays."""
        self.signal(signal.SIGKILL)
        if not self._gone_within(10):
            raise ServerError(f"{self.name} (pid {self.pid}) did not end on SIGKILL; see what holds it.")
        self.pid_file.unlink(missing_ok=True)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process when it is running."""
        pid = self.pid
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _gone_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.pid is not None:
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL)
        return True

    def _reap(self) -> None:
        if self._child is not None and self._child.poll() is not None:
            self._child = None

    def _log_tail(self) -> str:
        with contextlib.suppress(OSError):
            tail = self.log.read_text(errors="replace")[-LOG_TAIL:].strip()
            return f"The end of {self.log} reads:\n{tail}"
        return f"It left no log in {self.log}."
