# SPDX-License-Identifier: Apache-2.0
"""Flag that lets one of several processes report a common error."""

import os


class ProcessOnceFlag:
    """Flag that exactly one of the processes forked later can acquire: the only byte of a pipe."""

    def __init__(self) -> None:
        self._reader, writer = os.pipe()
        os.write(writer, b"!")
        os.close(writer)

    def acquire(self) -> bool:
        """Return True in the first caller only."""
        return bool(os.read(self._reader, 1))
