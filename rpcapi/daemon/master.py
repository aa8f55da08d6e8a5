# SPDX-License-Identifier: Apache-2.0
"""Master process: supervises one worker per slot, forwards signals, and notifies the service manager.

oslo.service's launchers give workers no stable index, detect no hung ones, and report READY before workers serve.
"""

import selectors
import signal
import time
from collections.abc import Callable, Sequence

from oslo_config import cfg
from oslo_log import log

from rpcapi.daemon import process, worker
from rpcapi.daemon.notify import Notifier
from rpcapi.daemon.process import ProcessOnceFlag
from rpcapi.daemon.slot import Slot

LOG = log.getLogger(__name__)

TICK = 0.5
# Seconds by which each tick extends systemd's start timeout, because a broker may be away for long.
START_EXTENSION = 30.0
# Seconds after which a reload is reported as finished, even if a worker's reset() takes longer.
RELOAD_LIMIT = 10.0
# Workers enforce graceful_shutdown_timeout themselves; they are killed this many seconds later.
STOP_MARGIN = 5.0


class Master:
    """Supervisor of the workers until SIGTERM or SIGINT. Single-threaded, so that a fork copies no locked lock."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        roles: Sequence[worker.WorkerRole],
        notifier: Notifier,
        on_worker_exit: Callable[[worker.WorkerRole], None],
    ) -> None:
        self._conf = conf
        self._slots = [Slot(role) for role in roles]
        self._notifier = notifier
        self._on_worker_exit = on_worker_exit
        self._selector = selectors.PollSelector()
        # SIGUSR2 is for workers; the master ignores it, because service managers send it to all processes.
        self._signals = process.SignalSocket(process.HANDLED)
        self._selector.register(self._signals.reader, selectors.EVENT_READ)
        self._once_flag = ProcessOnceFlag()
        self._ready_sent = False
        self._reload_until = 0.0
        self._stop_until = 0.0
        self._exit_status = 0
        self._status = ""

    def run(self) -> int:
        """Supervise until all workers have stopped; return the exit status."""
        while True:
            now = time.monotonic()
            self._notifier.alive(now)
            self._reap(now)
            if self._stop_until:
                if self._finish_stop(now):
                    return self._exit_status
            else:
                self._maintain_workers(now)
            self._update_status(now)
            self._handle_events()

    def _handle_events(self) -> None:
        for key, _ in self._selector.select(TICK):
            now = time.monotonic()
            if key.data is not None:
                key.data.read_channel(now)
                continue
            for number in self._signals.read():
                if number == signal.SIGHUP:
                    self._reload(now)
                elif number in (signal.SIGTERM, signal.SIGINT):
                    self._stop(now, signal.Signals(number).name)

    def _maintain_workers(self, now: float) -> None:
        for slot in self._slots:
            slot.end_if_hung(now, self._conf.worker_hang_timeout)
            if not slot.pid and now >= slot.spawn_at:
                self._spawn(slot, now)

    def _spawn(self, slot: Slot, now: float) -> None:
        def be_worker(channel_fd: int) -> int:
            # A copy of another worker's channel would hide the master's death from that worker.
            for other in self._slots:
                if other.channel is not None:
                    other.channel.close()
            self._signals.close()
            # At the first start all workers find the same error and one reports it; later each reports its own.
            return worker.run(self._conf, slot.role, channel_fd, None if self._ready_sent else self._once_flag)

        slot.spawn(now, be_worker)
        if slot.channel is not None:
            self._selector.register(slot.channel, selectors.EVENT_READ, slot)

    def _reap(self, now: float) -> None:
        for slot in self._slots:
            code = slot.reap()
            if code is None:
                continue
            self._selector.unregister(slot.channel)  # type: ignore[arg-type]
            slot.clear(now)
            self._on_worker_exit(slot.role)
            if self._stop_until:
                self._exit_status = self._exit_status or (process.EX_SOFTWARE if code else 0)
            elif code > 0 and not self._ready_sent:
                # A failure at the very first start will repeat: exit, so that the operator or systemd notices.
                self._exit_status = code
                self._stop(now, f"a failed start of {slot.role.name}")

    def _reload(self, now: float) -> None:
        if self._stop_until:
            return
        LOG.info("SIGHUP: reloading the configuration")
        self._notifier.reloading()
        try:
            self._conf.mutate_config_files()
        except cfg.Error as exc:
            LOG.error("Reload failed, the configuration is unchanged: %s", exc)
        for slot in self._slots:
            slot.reloading, slot.refused_reload = bool(slot.pid), False
            slot.signal(signal.SIGHUP)
        self._reload_until = now + RELOAD_LIMIT

    def _log_reload(self) -> None:
        refusing = [slot.role.name for slot in self._slots if slot.refused_reload]
        pending = [slot.role.name for slot in self._slots if slot.reloading]
        if refusing:
            LOG.error("Reload refused by %s; see the errors logged before", ", ".join(refusing))
        if pending:
            LOG.warning("Reload timed out after %d s: %s", RELOAD_LIMIT, ", ".join(pending))
        if not refusing and not pending:
            LOG.info("Reloaded")

    def _stop(self, now: float, why: str) -> None:
        if self._stop_until:
            return
        LOG.info("Stopping because of %s", why)
        self._notifier.stopping()
        self._stop_until = now + self._conf.graceful_shutdown_timeout + STOP_MARGIN
        for slot in self._slots:
            slot.signal(signal.SIGTERM)

    def _finish_stop(self, now: float) -> bool:
        if now > self._stop_until:
            for slot in self._slots:
                slot.signal(signal.SIGKILL)
        return not any(slot.pid for slot in self._slots)

    def _update_status(self, now: float) -> None:
        if self._stop_until:
            return
        serving = sum(slot.serving for slot in self._slots)
        status = f"{serving} of {len(self._slots)} processes serve"
        if not self._ready_sent:
            if serving < len(self._slots):
                self._notifier.starting(status, START_EXTENSION)
                return
            LOG.info("Ready: %s", status)
            self._ready_sent = True
            self._notifier.ready(status)
        elif self._reload_until:
            if now < self._reload_until and any(slot.reloading for slot in self._slots):
                return
            self._reload_until = 0.0
            self._log_reload()
            self._notifier.ready(status)
        elif status != self._status:
            self._notifier.status(status)
        self._status = status
