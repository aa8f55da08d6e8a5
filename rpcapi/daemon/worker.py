# SPDX-License-Identifier: Apache-2.0
"""A worker process: makes its service after the fork, runs it, and tells the master how it is."""

import faulthandler
import gc
import random
import signal
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from oslo_config import cfg
from oslo_log import log

from rpcapi import errors
from rpcapi.daemon import process, unknown_options
from rpcapi.daemon.first_word import FirstWord
from rpcapi.daemon.service import Factory, Service
from rpcapi.daemon.waiting import Stopped

LOG = log.getLogger(__name__)

# What a worker says to its master, a byte each.
SERVING, BEAT, RELOADED = b"r", b".", b"l"
BEAT_EVERY = 0.5
# A number among the signals that is none: start() has ended, well or badly.
_START_ENDED = 0


@dataclass(frozen=True)
class Role:
    """What one worker process is for: its name in logs, its index, and what it has to make.

    ``prepare`` runs first in the child: the patch, the logs, where the figures go; ``load`` then imports the
    factory.
    """

    name: str
    index: int
    prepare: Callable[[cfg.ConfigOpts], None]
    load: Callable[[], Factory]


class Worker:
    """Runs one service from start to drain; only the master holds the other end of ``channel``.

    Of the workers that find the same fault in the configuration, the one that takes ``first_word`` tells it; without
    one each tells it.
    """

    def __init__(
        self, conf: cfg.ConfigOpts, role: Role, channel: socket.socket, first_word: FirstWord | None = None
    ) -> None:
        self._conf = conf
        self._role = role
        self._channel = channel
        self._first_word = first_word
        self._sending = threading.Lock()
        self._stopping = threading.Event()
        self._service: Service | None = None
        self._exit_status = 0
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._inbox = process.SignalSocket([signal.SIGTERM, signal.SIGHUP])

    def run(self) -> int:
        """Return the status to exit with, after SIGTERM, the master's death or a start that failed."""
        threading.Thread(target=self._beat, name="beat", daemon=True).start()
        threading.Thread(target=self._await_orphaning, name="orphaning", daemon=True).start()
        starter = threading.Thread(target=self._start, name="start", daemon=True)
        starter.start()
        serving = False
        while not self._stopping.is_set():
            for number in self._inbox.read():
                if number == signal.SIGTERM or (number == _START_ENDED and self._exit_status):
                    self._stopping.set()
                elif number == _START_ENDED:
                    serving = True
                    self._say(SERVING)
                    if self._role.index == 0:
                        unknown_options.warn(self._conf)
                elif number == signal.SIGHUP:
                    self._reload(serving)
        self._drain(starter)
        return self._exit_status

    def _start(self) -> None:
        fault = ""
        try:
            service = self._role.load()(self._conf, self._role.index)
            self._service = service
            if not self._stopping.is_set():
                service.start()
                # What a start leaves (modules, tables) stays as long as the worker: no look at it again.
                gc.collect()
                gc.freeze()
        except Stopped as exc:
            LOG.info("%s stops before %s came", self._role.name, exc)
            if not self._stopping.is_set():
                LOG.error("%s gave up its start though nobody stopped it", self._role.name)
                self._exit_status = process.EX_SOFTWARE
        except (errors.BadConfiguration, cfg.Error) as exc:
            fault = " ".join(str(exc).split())
            self._exit_status = process.EX_CONFIG
        except Exception:
            # The edge of the process: any fault in a service's start ends this worker, with its traceback in
            # the log.
            LOG.exception("%s cannot start", self._role.name)
            self._exit_status = process.EX_SOFTWARE
        # Told only here: while an exception is handled, oslo.log adds its text to each line.
        if fault and (self._first_word is None or self._first_word.take()):
            LOG.critical("%s cannot start: %s", self._role.name, fault)
        self._inbox.put(_START_ENDED)

    def _reload(self, serving: bool) -> None:
        try:
            self._conf.mutate_config_files()
            if serving and self._service is not None:
                self._service.reset()
        except cfg.Error as exc:
            LOG.error("%s keeps the configuration it has: %s", self._role.name, exc)
        except Exception:
            # A reload that fails must not cost a worker that serves.
            LOG.exception("%s could not use the configuration it read", self._role.name)
        self._say(RELOADED)

    def _drain(self, starter: threading.Thread) -> None:
        if self._exit_status:
            return
        limit = self._conf.graceful_shutdown_timeout
        finisher = threading.Thread(target=self._finish, args=(starter,), name="drain", daemon=True)
        finisher.start()
        finisher.join(limit)
        if finisher.is_alive():
            LOG.error("%s did not drain within %d s and is ended; what it held is lost", self._role.name, limit)
            self._exit_status = process.EX_SOFTWARE

    def _finish(self, starter: threading.Thread) -> None:
        try:
            if self._service is not None:
                self._service.stop()
            starter.join()
            if self._service is not None:
                self._service.wait()
        except Exception:
            # The process ends anyway: the log and the exit status say that the drain failed.
            LOG.exception("%s could not drain", self._role.name)
            self._exit_status = process.EX_SOFTWARE

    def _beat(self) -> None:
        # Starved when the hub or the interpreter hangs, which is what the master wants to know.
        while self._say(BEAT):
            time.sleep(BEAT_EVERY)

    def _await_orphaning(self) -> None:
        while self._channel.recv(64):
            pass
        LOG.error("%s drains: its master is gone", self._role.name)
        self._inbox.put(signal.SIGTERM)

    def _say(self, word: bytes) -> bool:
        with self._sending:
            try:
                self._channel.sendall(word)
            except OSError:
                return False
        return True


def run(conf: cfg.ConfigOpts, role: Role, channel_fd: int, first_word: FirstWord | None = None) -> int:
    """Be the worker of ``role``, in a process just forked that has nothing but ``channel_fd``."""
    faulthandler.enable()
    random.seed()
    role.prepare(conf)
    # Made only now, so that under eventlet it is a green socket.
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, channel_fd)
    status = Worker(conf, role, channel, first_word).run()
    # What is wrong with the configuration has been told, and is one line.
    LOG.log(log.DEBUG if status == process.EX_CONFIG else log.INFO, "%s ends with status %d", role.name, status)
    return status
