# SPDX-License-Identifier: Apache-2.0
"""Forking a worker, and signals as bytes on a socket, the same in native and in green processes."""

import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Iterable

HANDLED = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD})
EX_SOFTWARE = 70
EX_CONFIG = 78


def fork(child: Callable[[], int]) -> int:
    """Fork and return the pid; the child process runs ``child`` and exits with what that returns.

    The handled signals are blocked across the fork, so that none is taken by the master's handlers in the
    child: the child begins with them blocked and at their defaults, and SignalSocket lets them through.
    """
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
            # Whatever escaped, the child must not run on as a second master.
            traceback.print_exc()
        finally:
            os._exit(status)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return pid


class SignalSocket:
    """Turns signals into bytes, read in order; other threads may put bytes of their own among them.

    A handler that only sets an event is not noticed by eventlet's hub, which sleeps on in its poll; a byte
    is.
    """

    def __init__(self, signals: Iterable[signal.Signals]) -> None:
        self.reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        for signo in signals:
            signal.signal(signo, lambda signo, frame: None)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)

    def put(self, number: int) -> None:
        """Add a byte, as if signal ``number`` had come."""
        self._writer.send(bytes([number]))

    def read(self) -> bytes:
        """Return the numbers that came, in order; blocks while there are none."""
        return self.reader.recv(64)

    def close(self) -> None:
        """Close both ends; signals are lost from here on."""
        signal.set_wakeup_fd(-1)
        self.reader.close()
        self._writer.close()
