# SPDX-License-Identifier: Apache-2.0
"""Socket files with a deadline, even if the client sends or receives slowly."""

import _pyio
import contextlib
import socket
import ssl
import time
from collections.abc import Iterator
from typing import Any

from cheroot import errors as cheroot_errors
from cheroot.makefile import StreamReader, StreamWriter
from oslo_log import log

LOG = log.getLogger(__name__)

END_OF_HEAD = b"\r\n\r\n"

READ_BYTES = 8192  # bytes per read, below the header limit, which cheroot enforces only without read_head()
IDLE_SECONDS = 30  # until a connection without a request, or stalled in one, is closed


class TimedSocket(socket.SocketIO):
    """Socket file that raises TimeoutError after ``deadline``, in monotonic seconds."""

    def __init__(self, connection: socket.socket, mode: str) -> None:
        super().__init__(connection, "rb" if "r" in mode else "wb")
        self._connection = connection
        self.deadline = time.monotonic() + IDLE_SECONDS

    def readinto(self, buffer: bytearray) -> int | None:  # type: ignore[override]
        with self._limited():
            return super().readinto(buffer)

    def write(self, data: bytes) -> int | None:  # type: ignore[override]
        with self._limited():
            return super().write(data)

    @contextlib.contextmanager
    def _limited(self) -> Iterator[None]:
        """Limit an operation to the deadline; after a timeout all later ones fail."""
        remaining = self.deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError("timed out")  # cheroot recognizes timeouts by this text
        self._connection.settimeout(min(remaining, IDLE_SECONDS))
        try:
            yield
        except TimeoutError:
            self.deadline = 0
            raise
        except ssl.SSLError as error:
            raise _refused(error) from error
        finally:
            self._connection.settimeout(IDLE_SECONDS)


class TimedReader(StreamReader):
    def __init__(self, connection: socket.socket, mode: str, size: int) -> None:
        _pyio.BufferedReader.__init__(self, TimedSocket(connection, mode), size)
        self.bytes_read = 0

    @property
    def buffered(self) -> int:
        private: Any = self
        return len(private._read_buf) - int(private._read_pos)

    def read_head(self) -> bytes | None:
        """Read a request header that is complete in the buffer, otherwise return None and read nothing."""
        end = self.peek(1).find(END_OF_HEAD)
        return None if end < 0 else bytes(self.read(end + len(END_OF_HEAD)))  # type: ignore[no-untyped-call]


class TimedWriter(StreamWriter):
    def __init__(self, connection: socket.socket, mode: str, size: int) -> None:
        _pyio.BufferedWriter.__init__(self, TimedSocket(connection, mode), size)
        self.bytes_written = 0

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Send everything, without cheroot's copies of unsent data."""
        rest = memoryview(data)
        while rest:
            rest = rest[self.raw.write(rest) :]
        self.bytes_written += len(data)
        return len(data)


def make_file(connection: socket.socket, mode: str, size: int) -> TimedReader | TimedWriter:
    return (TimedReader if "r" in mode else TimedWriter)(connection, mode, min(size, READ_BYTES))


def _refused(error: ssl.SSLError) -> Exception:
    """Return an error that closes the connection without an answer, which the client could not read."""
    LOG.info("Closed a connection: TLS failed: %s", error)
    return cheroot_errors.FatalSSLAlert(*error.args)
