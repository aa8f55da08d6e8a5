# SPDX-License-Identifier: Apache-2.0
"""Lets one of several processes report an error that all of them find."""

import fcntl
import os


class ProcessOnceFlag:
    """A flag created before the forks that exactly one process can acquire.

    Stored in an anonymous file under a kernel lock that is released when its holder dies; works the same under
    eventlet and with native threads.
    """

    def __init__(self) -> None:
        self._file = os.memfd_create("first-word")

    def acquire(self) -> bool:
        """Acquire the flag; return False when it was acquired before."""
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            if os.pread(self._file, 1, 0):
                return False
            os.pwrite(self._file, b"!", 0)
            return True
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)
