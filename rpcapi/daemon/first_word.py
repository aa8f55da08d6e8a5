# SPDX-License-Identifier: Apache-2.0
"""Which of several processes says what all of them have found."""

import fcntl
import os


class FirstWord:
    """Made before the forks; of the processes that then ask, one is told that the word is its own.

    Kept in a file without a name, under a lock that the kernel drops with its holder: under eventlet it works as it
    does with native threads, and no process can die holding it.
    """

    def __init__(self) -> None:
        self._file = os.memfd_create("first-word")

    def take(self) -> bool:
        """Tell whether nobody took it before; from now on somebody has."""
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            if os.pread(self._file, 1, 0):
                return False
            os.pwrite(self._file, b"!", 0)
            return True
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)
