# SPDX-License-Identifier: Apache-2.0
"""The reader of a connection."""

import socket
from collections.abc import Iterator

import pytest

from rpcapi.daemon.timed_sockets import READ_BYTES, TimedReader, make_file

LARGE = 1 << 17  # of the buffer that cheroot asks for with Python 3.14


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, TimedReader]]:
    """A client's socket, and the reader of the other end."""
    client, server = socket.socketpair()
    client.setblocking(False)
    with client, server, make_file(server, "rb", LARGE) as reader:
        assert isinstance(reader, TimedReader)
        yield client, reader


def test_header_that_has_come_is_read_at_once(pair: tuple[socket.socket, TimedReader]) -> None:
    client, reader = pair
    client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\nbody")
    assert reader.read_head() == b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    assert reader.buffered == len(b"body")


def test_long_header_is_read_in_pieces_whatever_the_size_of_the_buffer(pair: tuple[socket.socket, TimedReader]) -> None:
    client, reader = pair
    client.sendall(b"GET / HTTP/1.1\r\nLong: %s\r\n\r\n" % (b"a" * READ_BYTES))
    assert reader.read_head() is None
    assert reader.buffered == READ_BYTES
