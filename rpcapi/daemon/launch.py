# SPDX-License-Identifier: Apache-2.0
"""The master process: keeps one worker in each slot, hands signals on, and speaks to the service manager.

Not oslo.service's launchers, whose two back ends differ just where a daemon of ours must not: with native
threads a SIGHUP replaces the workers and reset() is never called; READY is told before a worker serves;
neither gives a worker a stable index nor notices one that hangs. The calls of a service are oslo.service's,
so that a service fits both.
"""

import selectors
import signal
import time
from collections.abc import Callable, Sequence

from oslo_config import cfg
from oslo_log import log

from rpcapi.daemon import process, worker
from rpcapi.daemon.first_word import FirstWord
from rpcapi.daemon.notify import Notifier
from rpcapi.daemon.slot import Slot

LOG = log.getLogger(__name__)

TICK = 0.5
# The start may wait long for a broker; systemd is asked for this many seconds more at each tick.
START_EXTENSION = 30.0
# A worker's reset() that takes longer is no longer waited for; the manager is told that the reload is over.
RELOAD_LIMIT = 10.0
# Beyond graceful_shutdown_timeout, which the workers keep by themselves, before the rest is killed.
STOP_MARGIN = 5.0


class Master:
    """Runs until SIGTERM or SIGINT; stays single-threaded, so that a fork copies no held lock."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        roles: Sequence[worker.Role],
        notifier: Notifier,
        on_death: Callable[[worker.Role], None],
    ) -> None:
        self._conf = conf
        self._slots = [Slot(role) for role in roles]
        self._notifier = notifier
        self._on_death = on_death
        self._selector = selectors.PollSelector()
        self._signals = process.SignalSocket([signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD])
        self._selector.register(self._signals.reader, selectors.EVENT_READ)
        self._first_word = FirstWord()
        self._was_ready = False
        self._reload_until = 0.0
        self._stop_until = 0.0
        self._exit_status = 0
        self._status = ""

    def run(self) -> int:
        """Return the status to exit with: 0 after a clean drain."""
        while True:
            now = time.monotonic()
            self._notifier.alive(now)
            self._reap(now)
            if self._stop_until:
                if self._stopped(now):
                    return self._exit_status
            else:
                self._keep(now)
            self._report(now)
            self._take_events()

    def _take_events(self) -> None:
        for key, _ in self._selector.select(TICK):
            now = time.monotonic()
            if key.data is not None:
                key.data.hear(now)
                continue
            for number in self._signals.read():
                if number == signal.SIGHUP:
                    self._reload(now)
                elif number in (signal.SIGTERM, signal.SIGINT):
                    self._stop(now, signal.Signals(number).name)

    def _keep(self, now: float) -> None:
        for slot in self._slots:
            slot.end_if_hung(now, self._conf.worker_hang_timeout)
            if not slot.pid and now >= slot.spawn_at:
                self._spawn(slot, now)

    def _spawn(self, slot: Slot, now: float) -> None:
        def be_worker(channel_fd: int) -> int:
            # Another worker's channel kept open here would hide the master's death from that worker.
            for other in self._slots:
                if other.channel is not None:
                    other.channel.close()
            self._signals.close()
            # In the first start all workers find the same fault; later each is on its own.
            return worker.run(self._conf, slot.role, channel_fd, None if self._was_ready else self._first_word)

        slot.spawn(now, be_worker)
        if slot.channel is not None:
            self._selector.register(slot.channel, selectors.EVENT_READ, slot)

    def _reap(self, now: float) -> None:
        for slot in self._slots:
            code = slot.reap()
            if code is None:
                continue
            self._selector.unregister(slot.channel)  # type: ignore[arg-type]
            slot.empty(now)
            self._on_death(slot.role)
            if self._stop_until:
                self._exit_status = self._exit_status or (process.EX_SOFTWARE if code else 0)
            elif code > 0 and not self._was_ready:
                # What fails in the very first start will fail again: the operator, or systemd, should hear of
                # it now.
                self._exit_status = code
                self._stop(now, f"a failed start of {slot.role.name}")

    def _reload(self, now: float) -> None:
        if self._stop_until:
            return
        LOG.info("SIGHUP: reading the configuration anew")
        self._notifier.reloading()
        try:
            self._conf.mutate_config_files()
        except cfg.Error as exc:
            LOG.error("The configuration stays as it was: %s", exc)
        for slot in self._slots:
            slot.reloading = bool(slot.pid)
            slot.signal(signal.SIGHUP)
        self._reload_until = now + RELOAD_LIMIT

    def _stop(self, now: float, why: str) -> None:
        if self._stop_until:
            return
        LOG.info("Stopping because of %s", why)
        self._notifier.stopping()
        self._stop_until = now + self._conf.graceful_shutdown_timeout + STOP_MARGIN
        for slot in self._slots:
            slot.signal(signal.SIGTERM)

    def _stopped(self, now: float) -> bool:
        if now > self._stop_until:
            for slot in self._slots:
                slot.signal(signal.SIGKILL)
        return not any(slot.pid for slot in self._slots)

    def _report(self, now: float) -> None:
        if self._stop_until:
            return
        serving = sum(slot.serving for slot in self._slots)
        status = f"{serving} of {len(self._slots)} processes serve"
        if not self._was_ready:
            if serving < len(self._slots):
                self._notifier.starting(status, START_EXTENSION)
                return
            LOG.info("Ready: %s", status)
            self._was_ready = True
            self._notifier.ready(status)
        elif self._reload_until:
            if now < self._reload_until and any(slot.reloading for slot in self._slots):
                return
            self._reload_until = 0.0
            LOG.info("Reloaded")
            self._notifier.ready(status)
        elif status != self._status:
            self._notifier.status(status)
        self._status = status
