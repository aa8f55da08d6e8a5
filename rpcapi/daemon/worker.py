# SPDX-License-Identifier: Apache-2.0
"""Worker process: creates its service after the fork, runs it, and reports to the master."""

import contextlib
import faulthandler
import gc
import random
import signal
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from oslo_config import cfg
from oslo_log import log

from rpcapi import errors, tracing
from rpcapi.daemon import configuration, process, state_report
from rpcapi.daemon.process import ProcessOnceFlag
from rpcapi.daemon.waiting import ShutdownRequested

LOG = log.getLogger(__name__)

# One-byte messages from worker to master.
SERVING, HEARTBEAT, RELOADED, REFUSED = b"r", b".", b"l", b"x"
HEARTBEAT_INTERVAL = 0.5
# Pseudo signal number: start() has ended, successfully or not.
_START_ENDED = 0


class Service(Protocol):
    """Service of one worker, called in the worker process."""

    def start(self) -> None:
        """Return when the worker serves; wait for dependencies with ``rpcapi.daemon.waiting.wait_for``.

        Raises BadConfiguration if the configuration cannot work; the daemon then exits with this message.
        """

    def stop(self) -> None:
        """Stop accepting requests. Called once, possibly during start(), which must then return soon."""

    def wait(self) -> None:
        """Return after the drain; stop() and wait() together may take ``graceful_shutdown_timeout`` seconds."""

    def reset(self) -> None:
        """Apply the reloaded mutable options, or raise a GanttError and keep the previous ones."""


@dataclass(frozen=True)
class WorkerRole:
    """Role of a worker process: ``prepare`` patches the child and sets up logs, then ``make`` creates the service."""

    name: str
    index: int
    prepare: Callable[[cfg.ConfigOpts], None]
    make: Callable[[cfg.ConfigOpts], Service]
    on_serving: Callable[[], None] = lambda: None


class Worker:
    """Runner of one service from start to drain; ``once_flag`` lets only one worker log a common error."""

    def __init__(
        self, conf: cfg.ConfigOpts, role: WorkerRole, channel: socket.socket, once_flag: ProcessOnceFlag | None = None
    ) -> None:
        self._conf = conf
        self._role = role
        self._channel = channel
        self._once_flag = once_flag
        self._sending = threading.Lock()
        self._stopping = threading.Event()
        self._service: Service | None = None
        self._exit_status = 0
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._inbox = process.SignalSocket([signal.SIGTERM, signal.SIGHUP, signal.SIGUSR2])

    def run(self) -> int:
        """Run until SIGTERM, the master's death or a failed start; return the exit status."""
        threading.Thread(target=self._send_heartbeats, name="beat", daemon=True).start()
        threading.Thread(target=self._watch_master, name="orphaning", daemon=True).start()
        starter = threading.Thread(target=self._start, name="start", daemon=True)
        starter.start()
        serving = False
        while not self._stopping.is_set():
            for number in self._inbox.read():
                if number == signal.SIGTERM or (number == _START_ENDED and self._exit_status):
                    self._stopping.set()
                elif number == _START_ENDED:
                    serving = True
                    self._send(SERVING)
                    if self._role.index == 0:
                        configuration.warn_of_unknown_options(self._conf)
                elif number == signal.SIGHUP:
                    self._reload(serving)
                elif number == signal.SIGUSR2:
                    state_report.write(self._role.name, self._conf)
        self._drain(starter)
        return self._exit_status

    def _start(self) -> None:
        start_error = ""
        try:
            service = self._role.make(self._conf)
            self._service = service
            if not self._stopping.is_set():
                service.start()
                # Objects of the start (modules, tables) live as long as the worker: exempt them from the collector.
                gc.collect()
                gc.freeze()
                self._role.on_serving()
        except ShutdownRequested as exc:
            LOG.info("%s stops: %s was not reachable yet", self._role.name, exc)
            if not self._stopping.is_set():
                LOG.error("%s: startup aborted unexpectedly", self._role.name)
                self._exit_status = process.EX_SOFTWARE
        except (errors.BadConfiguration, cfg.Error) as exc:
            start_error = " ".join(str(exc).split())
            self._exit_status = process.EX_CONFIG
        except Exception:
            # Top level of the process: any error at the start ends this worker, with a traceback in the log.
            LOG.exception("%s cannot start", self._role.name)
            self._exit_status = process.EX_SOFTWARE
        # Outside of the handlers: while an exception is handled, oslo.log adds its text to each line.
        if start_error and (self._once_flag is None or self._once_flag.acquire()):
            LOG.critical("%s cannot start: %s", self._role.name, start_error)
        self._inbox.put(_START_ENDED)

    def _reload(self, serving: bool) -> None:
        answer = REFUSED
        try:
            self._conf.mutate_config_files()
            if serving and self._service is not None:
                self._service.reset()
                _refresh_caps()
            answer = RELOADED
        except cfg.Error as exc:
            LOG.error("%s: reload failed, the configuration is unchanged: %s", self._role.name, exc)
        except errors.GanttError as exc:
            LOG.error("%s refused the reloaded configuration and keeps the previous one: %s", self._role.name, exc)
        except Exception:
            LOG.exception("%s could not apply the reloaded configuration", self._role.name)
        self._send(answer)

    def _drain(self, starter: threading.Thread) -> None:
        if self._exit_status:
            return
        limit = self._conf.graceful_shutdown_timeout
        finisher = threading.Thread(target=self._finish, args=(starter,), name="drain", daemon=True)
        finisher.start()
        finisher.join(limit)
        if finisher.is_alive():
            LOG.error(
                "%s did not drain within %d s and is killed; its requests in progress are lost", self._role.name, limit
            )
            self._exit_status = process.EX_SOFTWARE

    def _finish(self, starter: threading.Thread) -> None:
        try:
            if self._service is not None:
                self._service.stop()
            starter.join()
            if self._service is not None:
                self._service.wait()
            tracing.stop()
        except Exception:
            LOG.exception("%s could not drain", self._role.name)
            self._exit_status = process.EX_SOFTWARE

    def _send_heartbeats(self) -> None:
        # Stops when hub or interpreter hangs, so that the master notices.
        while self._send(HEARTBEAT):
            time.sleep(HEARTBEAT_INTERVAL)

    def _watch_master(self) -> None:
        # A master that dies with unread messages resets the connection instead of ending it.
        with contextlib.suppress(ConnectionResetError):
            while self._channel.recv(64):
                pass
        LOG.error("%s drains: its master has died", self._role.name)
        self._inbox.put(signal.SIGTERM)

    def _send(self, message: bytes) -> bool:
        with self._sending:
            try:
                self._channel.sendall(message)
            except OSError:
                return False
        return True


def _refresh_caps() -> None:
    from rpcapi.clients import version_caps  # noqa: PLC0415 - it needs the bus, which only workers may import

    version_caps.refresh_all()


def run(conf: cfg.ConfigOpts, role: WorkerRole, channel_fd: int, once_flag: ProcessOnceFlag | None = None) -> int:
    faulthandler.enable()
    random.seed()
    role.prepare(conf)
    # After the patching, so that it is a green socket under eventlet.
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, channel_fd)
    status = Worker(conf, role, channel, once_flag).run()
    # A bad configuration has already been logged in one line.
    LOG.log(log.DEBUG if status == process.EX_CONFIG else log.INFO, "%s exits with status %d", role.name, status)
    return status
