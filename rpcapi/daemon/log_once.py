# SPDX-License-Identifier: Apache-2.0
"""Flag that lets one of several processes report a common error."""

import os


class ProcessOnceFlag:
    """Flag that only one of several forked processes can acquire: one byte in a pipe without writers."""

    def __init__(self) -> None:
        self._reader, writer = os.pipe()
        os.write(writer, b"!")
        os.close(writer)

    def acquire(self) -> bool:
        return bool(os.read(self._reader, 1))
