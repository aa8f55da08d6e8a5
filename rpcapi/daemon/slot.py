# SPDX-License-Identifier: Apache-2.0
"""One place for a worker process, as its master sees it: empty, starting, serving, hung."""

import contextlib
import os
import signal
import socket
from collections.abc import Callable

from oslo_log import log

from rpcapi.daemon import process, worker

LOG = log.getLogger(__name__)

# A worker that served this long and then died is respawned at once; otherwise each death doubles the pause.
STEADY_AFTER = 10.0
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
# Seconds that a worker's imports may take, during which it can give no sign of life: on a busy machine many.
START_LIMIT = 120.0
# Seconds for a hung worker to write its stacks before it is killed.
LAST_WORDS = 2.0


class Slot:
    """Holds at most one process of a role; all times are monotonic seconds, given by the caller."""

    def __init__(self, role: worker.Role) -> None:
        self.role = role
        self.pid = 0
        self.channel: socket.socket | None = None
        self.serving = False
        self.reloading = False
        self.spawn_at = 0.0
        self._spawned = 0.0
        self._heard = 0.0
        self._condemned = 0.0
        self._deaths = 0

    def spawn(self, now: float, be_worker: Callable[[int], int]) -> None:
        """Fork a process that runs ``be_worker(channel file descriptor)``."""
        mine, theirs = socket.socketpair()
        mine.setblocking(False)

        def child() -> int:
            mine.close()
            return be_worker(theirs.detach())

        try:
            self.pid = process.fork(child)
        except OSError as exc:
            # No memory or no process left for us just now: the next try comes after a pause, as after a death.
            LOG.error("%s cannot be started: %s", self.role.name, exc)
            mine.close()
            self.empty(now)
            return
        finally:
            theirs.close()
        self.channel = mine
        self.serving = self.reloading = False
        self._spawned = self._heard = now
        self._condemned = 0.0
        LOG.info("%s is process %d", self.role.name, self.pid)

    def hear(self, now: float) -> None:
        """Take in what the worker said; its silence is judged by hung()."""
        assert self.channel is not None  # noqa: S101 - only an occupied slot is listened to
        try:
            said = self.channel.recv(4096)
        except BlockingIOError:
            return
        if said:
            self._heard = now
        if worker.SERVING in said:
            self.serving = True
        if worker.RELOADED in said:
            self.reloading = False

    def signal(self, signo: signal.Signals) -> None:
        """Send a signal to the process, if there is one."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signo)

    def end_if_hung(self, now: float, limit: float) -> None:
        """End a process that was silent for ``limit`` seconds: first its stacks, then SIGKILL."""
        if not self.serving:
            limit = max(limit, START_LIMIT)
        if not self.pid or now - self._heard < limit:
            return
        if not self._condemned:
            LOG.error("%s (process %d) gave no sign of life for %d s: ending it", self.role.name, self.pid, limit)
            self._condemned = now
            self.signal(signal.SIGABRT)
        elif now - self._condemned > LAST_WORDS:
            self.signal(signal.SIGKILL)

    def reap(self) -> int | None:
        """Return how the process ended (status, or minus the signal); None if it runs or is none."""
        if not self.pid:
            return None
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if not pid:
            return None
        code = os.waitstatus_to_exitcode(status)
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with status {code}"
        # Of a bad configuration the worker has told what there is to tell.
        level = {0: log.INFO, process.EX_CONFIG: log.DEBUG}.get(code, log.WARNING)
        LOG.log(level, "%s (process %d) %s", self.role.name, pid, how)
        return code

    def empty(self, now: float) -> None:
        """Forget the process that ended, and settle when the next may be spawned."""
        steady = self.serving and now - self._spawned > STEADY_AFTER
        self._deaths = 1 if steady else self._deaths + 1
        pause = 0.0 if self._deaths == 1 else min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (self._deaths - 2))
        self.spawn_at = now + pause
        self.pid = 0
        self.serving = self.reloading = False
        if self.channel is not None:
            self.channel.close()
            self.channel = None
