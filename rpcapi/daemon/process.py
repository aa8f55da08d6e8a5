# SPDX-License-Identifier: Apache-2.0
"""Forks of workers, and signals as bytes on a socket, for native and green processes."""

import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Iterable

HANDLED = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGUSR2})
EX_SOFTWARE = 70
EX_CONFIG = 78


def fork(child: Callable[[], int]) -> int:
    """Fork, with handled signals blocked until the child's SignalSocket; the child exits with ``child``'s result."""
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
    pid = os.fork()
    if pid == 0:
        status = EX_SOFTWARE
        try:
            signal.set_wakeup_fd(-1)
            for signo in HANDLED:
                signal.signal(signo, signal.SIG_DFL)
            status = child()
        except BaseException:
            # Whatever was raised, the child must not continue as a second master.
            traceback.print_exc()
        finally:
            os._exit(status)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return pid


class SignalSocket:
    """Received signals as bytes, in order; unlike an event, a socket wakes eventlet's hub."""

    def __init__(self, signals: Iterable[signal.Signals]) -> None:
        self.reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        for signo in signals:
            signal.signal(signo, lambda signo, frame: None)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)

    def put(self, number: int) -> None:
        self._writer.send(bytes([number]))

    def read(self) -> bytes:
        return self.reader.recv(64)

    def close(self) -> None:
        signal.set_wakeup_fd(-1)
        self.reader.close()
        self._writer.close()


class ProcessOnceFlag:
    """Flag that only one of several forked processes can acquire: one byte in a pipe without writers."""

    def __init__(self) -> None:
        self._reader, writer = os.pipe()
        os.write(writer, b"!")
        os.close(writer)

    def acquire(self) -> bool:
        return bool(os.read(self._reader, 1))
