# SPDX-License-Identifier: Apache-2.0
"""Files over a connection's socket that end at a deadline, however slowly the client sends or receives."""

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

READ_BYTES = 8192  # received at once: less than a request's header may have, whose limit holds for one in pieces only
IDLE_SECONDS = 30  # after which a connection without a request, or in the middle of one, is closed


class TimedSocket(socket.SocketIO):
    """Reads or writes a socket until ``deadline``, in seconds of the monotonic clock."""

    def __init__(self, connection: socket.socket, mode: str) -> None:
        super().__init__(connection, "rb" if "r" in mode else "wb")
        self._connection = connection
        self.deadline = time.monotonic() + IDLE_SECONDS

    def readinto(self, buffer: bytearray) -> int | None:  # type: ignore[override]
        """Read what has come; raises TimeoutError."""
        with self._limited():
            return super().readinto(buffer)

    def write(self, data: bytes) -> int | None:  # type: ignore[override]
        """Write as much as the client takes; raises TimeoutError."""
        with self._limited():
            return super().write(data)

    @contextlib.contextmanager
    def _limited(self) -> Iterator[None]:
        """Limit what is done with the connection to the time until the deadline; after a timeout none is left."""
        remaining = self.deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError("timed out")  # the text by which the server tells it from other failures
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
    """What a client sends."""

    def __init__(self, connection: socket.socket, mode: str, size: int) -> None:
        _pyio.BufferedReader.__init__(self, TimedSocket(connection, mode), size)
        self.bytes_read = 0

    @property
    def buffered(self) -> int:
        """The number of bytes that have been received and not read."""
        private: Any = self  # of _pyio.BufferedReader
        return len(private._read_buf) - int(private._read_pos)

    def read_head(self) -> bytes | None:
        """Read a request's header with its last line, None and nothing unless all of it has come in one piece."""
        end = self.peek(1).find(END_OF_HEAD)
        return None if end < 0 else bytes(self.read(end + len(END_OF_HEAD)))  # type: ignore[no-untyped-call]


class TimedWriter(StreamWriter):
    """What a client receives."""

    def __init__(self, connection: socket.socket, mode: str, size: int) -> None:
        _pyio.BufferedWriter.__init__(self, TimedSocket(connection, mode), size)
        self.bytes_written = 0

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Send all of it, without cheroot's copies of what is not sent yet."""
        rest = memoryview(data)
        while rest:
            rest = rest[self.raw.write(rest) :]
        self.bytes_written += len(data)
        return len(data)


def make_file(connection: socket.socket, mode: str, size: int) -> TimedReader | TimedWriter:
    """Return the reader or the writer of a connection; the buffer has ``size`` bytes, at most READ_BYTES."""
    return (TimedReader if "r" in mode else TimedWriter)(connection, mode, min(size, READ_BYTES))


def _refused(error: ssl.SSLError) -> Exception:
    """Return what closes the connection without an answer, which the client could not read."""
    LOG.info("A connection is closed since TLS failed: %s", error)
    return cheroot_errors.FatalSSLAlert(*error.args)
