# SPDX-License-Identifier: Apache-2.0
"""Server process, identified by pid and start time so that no other process is ever signalled."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from devstack.deploy.users.folder import PRIVATE_FILE, write_private
from devstack.servers import lifetime
from devstack.servers.errors import AlreadyRunning, ServerError, ServerNotReady

POLL = 0.02
PRIVATE_UMASK = 0o077
LOG_TAIL = 800


def poll(ready: Callable[[], bool], seconds: float, pause: float = POLL) -> bool:
    """Wait until ``ready()`` is true, at most ``seconds``; return whether it was."""
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True


def start_ticks(pid: int) -> int | None:
    """Return when the process started, in clock ticks since boot; None if it ended or is a zombie."""
    fields = _stat(pid)
    return int(fields[19]) if fields else None


def members(group: int) -> list[int]:
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [pid for pid in pids if (fields := _stat(pid)) and int(fields[2]) == group]


def _stat(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat from the state on; None if the process ended or is a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command name, in parentheses, may itself contain spaces and parentheses.
    fields = stat.rpartition(")")[2].split()
    state, threads = fields[0], int(fields[17])
    # A dead leader with running threads keeps its sockets, so it has not really ended.
    return None if state in "ZX" and threads <= 1 else fields


class ServerProcess:
    """Background process of a run folder, which later programs find and end by its pid file."""

    def __init__(self, name: str, pid_file: Path, log: Path) -> None:
        self.name = name
        self.pid_file = pid_file
        self.log = log
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Pid of the live process, or None; a reused pid does not count."""
        self._reap()
        pid, recorded = self._record()
        started = start_ticks(pid) if pid is not None else None
        return pid if started is not None and started == recorded else None

    @property
    def group(self) -> int | None:
        """Process group that the process leads, or that it led and that still has members; else None."""
        pid, _ = self._record()
        if pid is None:
            return None
        fields = _stat(pid)
        if fields is not None:
            return pid if pid == self.pid and int(fields[2]) == pid else None
        # The pid may be reused, so recognize members by session and working folder.
        return pid if any(self._is_orphaned_member(member, pid) for member in members(pid)) else None

    def require_stopped(self) -> None:
        pid = self.pid
        if pid is not None:
            raise AlreadyRunning(f"{self.name} is already running with pid {pid} in {self.pid_file.parent}.")

    def spawn(self, command: Sequence[str], env: Mapping[str, str], cwd: Path) -> None:
        """Start the command in its own session; it ends with this process. Raises AlreadyRunning, ServerError."""
        self.require_stopped()
        try:
            log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE_FILE)
            with os.fdopen(log, "ab") as output:
                self._child = subprocess.Popen(  # noqa: S603 - a fixed command, no shell
                    command,
                    env=dict(env),
                    cwd=cwd,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    umask=PRIVATE_UMASK,
                )
        except OSError as why:
            raise ServerError(f"{self.name} cannot be started: {why}.") from why
        self._write_record(self._child.pid)
        lifetime.bind(self._child.pid, self.pid_file)

    def record_own_process(self) -> None:
        self._write_record(os.getpid())

    def forget(self) -> None:
        self.pid_file.unlink(missing_ok=True)

    def start(self, command: Sequence[str], cwd: Path, ready: Callable[[], bool], seconds: float) -> None:
        """Start the command with this process's environment, and wait for ``ready()``. On ServerError nothing runs."""
        self.spawn(command, os.environ, cwd)
        try:
            self.wait_ready(ready, seconds)
        except BaseException:
            self.kill()
            raise

    def wait_ready(self, ready: Callable[[], bool], seconds: float) -> None:
        """Wait for ``ready()``. Raises ServerNotReady if the process ends or ``seconds`` pass."""
        deadline = time.monotonic() + seconds
        while not ready():
            if self.pid is None:
                raise ServerNotReady(f"{self.name} ended while it was starting. {self._log_tail()}")
            if time.monotonic() > deadline:
                raise ServerNotReady(f"{self.name} did not answer within {seconds:g} s. {self._log_tail()}")
            time.sleep(POLL)

    def stop(self, seconds: float) -> None:
        """Stop the process and its group with SIGTERM, after ``seconds`` with SIGKILL."""
        stop_together([self], seconds)

    def kill(self) -> None:
        """Kill the process, and wait for its end. Raises ServerError if it does not end."""
        self.signal(signal.SIGKILL)
        if not self.wait_exit(10):
            raise ServerError(f"{self.name} (pid {self.pid}) did not end on SIGKILL; check what blocks it.")
        self.forget()

    def kill_group(self) -> None:
        """Kill the process and its workers at once, like a power failure. Raises ServerError."""
        if self.pid is not None:
            _signal_group(self.pid, signal.SIGKILL)
        self.kill()

    def signal(self, number: signal.Signals) -> None:
        pid = self.pid
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def end_group(self, group: int | None, deadline: float) -> None:
        """Wait until the signalled process and its group end; kill them after the deadline. Raises ServerError."""
        has_ended = self._wait_exit(deadline)
        if group is not None and has_ended:
            # The remaining members have not been signalled yet.
            _signal_group(group, signal.SIGTERM)
            has_ended = poll(lambda: not members(group), deadline - time.monotonic())
        if group is not None and not has_ended:
            _signal_group(group, signal.SIGKILL)
        self.kill()

    def wait_exit(self, seconds: float) -> bool:
        return self._wait_exit(time.monotonic() + seconds)

    def _write_record(self, pid: int) -> None:
        write_private(self.pid_file, json.dumps({"pid": pid, "start_ticks": start_ticks(pid)}))

    def _record(self) -> tuple[int | None, object]:
        try:
            record = json.loads(self.pid_file.read_text())
            pid, recorded = record["pid"], record["start_ticks"]
        except (OSError, ValueError, TypeError, KeyError):
            # No record, or a plain number that a different program wrote.
            return None, None
        return (pid, recorded) if isinstance(pid, int) else (None, None)

    def _is_orphaned_member(self, pid: int, session: int) -> bool:
        fields = _stat(pid)
        with contextlib.suppress(OSError):
            folder = Path(f"/proc/{pid}/cwd").readlink()
            return fields is not None and int(fields[3]) == session and folder == self.pid_file.parent.resolve()
        return False

    def _wait_exit(self, deadline: float) -> bool:
        return poll(lambda: self.pid is None, deadline - time.monotonic())

    def _reap(self) -> None:
        if self._child is not None and self._child.poll() is not None:
            self._child = None

    def _log_tail(self) -> str:
        with contextlib.suppress(OSError):
            tail = self.log.read_text(errors="replace")[-LOG_TAIL:].strip()
            return f"The end of {self.log} reads:\n{tail}"
        return f"It wrote no log in {self.log}."


def stop_together(processes: Sequence[ServerProcess], seconds: float) -> None:
    """Stop all processes at once, because some wait for others; SIGKILL after ``seconds``. Raises ServerError."""
    # Before any signal, because a group without its leader is harder to identify.
    groups = {process: process.group for process in processes}
    for process in processes:
        process.signal(signal.SIGTERM)
    deadline = time.monotonic() + seconds
    failures: list[ServerError] = []
    for process, group in groups.items():
        try:
            process.end_group(group, deadline)
        except ServerError as why:
            failures.append(why)
    if failures:
        raise ServerError(" ".join(str(why) for why in failures))


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)
