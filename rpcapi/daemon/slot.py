# SPDX-License-Identifier: Apache-2.0
"""The master's record of one worker process: none, starting, serving or hung."""

import contextlib
import os
import signal
import socket
from collections.abc import Callable

from oslo_log import log

from rpcapi.daemon import process, worker

LOG = log.getLogger(__name__)

# A worker that dies after serving this long is respawned at once; otherwise each death doubles the pause.
STABLE_AFTER = 10.0
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
# Seconds without a heartbeat allowed during a worker's imports, which are slow on a busy machine.
START_LIMIT = 120.0
# Seconds for a hung worker to write its stacks before it is killed.
STACK_DUMP_SECONDS = 2.0


class Slot:
    """Supervisor of at most one process of a role; callers pass times in monotonic seconds."""

    def __init__(self, role: worker.WorkerRole) -> None:
        self.role = role
        self.pid = 0
        self.channel: socket.socket | None = None
        self.serving = False
        self.reloading = False
        self.refused_reload = False
        self.spawn_at = 0.0
        self._spawned = 0.0
        self._last_contact = 0.0
        self._abort_sent_at = 0.0
        self._deaths = 0

    def spawn(self, now: float, be_worker: Callable[[int], int]) -> None:
        master_end, worker_end = socket.socketpair()
        master_end.setblocking(False)

        def child() -> int:
            master_end.close()
            return be_worker(worker_end.detach())

        try:
            self.pid = process.fork(child)
        except OSError as exc:
            # No memory or process slot available: retry after a pause, as after a death.
            LOG.error("%s cannot be started: %s", self.role.name, exc)
            master_end.close()
            self.clear(now)
            return
        finally:
            worker_end.close()
        self.channel = master_end
        self._spawned = self._last_contact = now
        self._abort_sent_at = 0.0
        LOG.info("%s is process %d", self.role.name, self.pid)

    def read_channel(self, now: float) -> None:
        assert self.channel is not None  # noqa: S101 - only a slot with a process is read
        try:
            messages = self.channel.recv(4096)
        except BlockingIOError:
            return
        if messages:
            self._last_contact = now
        if worker.SERVING in messages:
            self.serving = True
        reloaded, refused = messages.rfind(worker.RELOADED), messages.rfind(worker.REFUSED)
        if reloaded != refused:  # the last reload counts
            self.reloading, self.refused_reload = False, refused > reloaded

    def signal(self, signo: signal.Signals) -> None:
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signo)

    def end_if_hung(self, now: float, limit: float) -> None:
        """End a process that is silent for ``limit`` seconds: SIGABRT dumps its stacks, then SIGKILL."""
        if not self.serving:
            limit = max(limit, START_LIMIT)
        if not self.pid or now - self._last_contact < limit:
            return
        if not self._abort_sent_at:
            LOG.error("%s (process %d) sent no heartbeat for %d s: killing it", self.role.name, self.pid, limit)
            self._abort_sent_at = now
            self.signal(signal.SIGABRT)
        elif now - self._abort_sent_at > STACK_DUMP_SECONDS:
            self.signal(signal.SIGKILL)

    def reap(self) -> int | None:
        """Return the exit status of an ended process, or minus its signal; None if no process has ended."""
        if not self.pid:
            return None
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if not pid:
            return None
        code = os.waitstatus_to_exitcode(status)
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with status {code}"
        # The worker has already logged a bad configuration.
        level = {0: log.INFO, process.EX_CONFIG: log.DEBUG}.get(code, log.WARNING)
        LOG.log(level, "%s (process %d) %s", self.role.name, pid, how)
        return code

    def clear(self, now: float) -> None:
        stable = self.serving and now - self._spawned > STABLE_AFTER
        self._deaths = 1 if stable else self._deaths + 1
        pause = 0.0 if self._deaths == 1 else min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (self._deaths - 2))
        self.spawn_at = now + pause
        self.pid = 0
        self.serving = self.reloading = self.refused_reload = False
        if self.channel is not None:
            self.channel.close()
            self.channel = None
