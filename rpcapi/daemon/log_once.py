# SPDX-License-Identifier: Apache-2.0
"""Flag that lets one of several processes report a common error."""

import os


class ProcessOnceFlag:
    """Flag created before the forks that exactly one process can acquire: the only byte of a pipe without writers."""

    def __init__(self) -> None:
        self._reader, writer = os.pipe()
        os.write(writer, b"!")
        os.close(writer)

    def acquire(self) -> bool:
        """Acquire the flag; return False if it was acquired before."""
        return bool(os.read(self._reader, 1))
