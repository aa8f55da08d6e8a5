# SPDX-License-Identifier: Apache-2.0
"""The proxy: it forwards, withholds while it is cut, delivers late, and closes connections."""

import socket
from collections.abc import Iterator

import pytest

from devstack.lab.chaos.proxy import TcpProxy
from devstack.servers.ports import LOOPBACK

SECONDS = 20.0


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """A listening socket."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        listener.settimeout(SECONDS)
        yield listener


@pytest.fixture
def proxy(server: socket.socket) -> Iterator[TcpProxy]:
    """A proxy in front of it."""
    created = TcpProxy(server.getsockname()[1])
    yield created
    created.close()


def connect(proxy: TcpProxy) -> socket.socket:
    """Connect to the proxy."""
    client = socket.create_connection((LOOPBACK, proxy.port))
    client.settimeout(SECONDS)
    return client


def test_forwards_both_ways(proxy: TcpProxy, server: socket.socket) -> None:
    with connect(proxy) as client, server.accept()[0] as peer:
        client.sendall(b"there")
        assert peer.recv(100) == b"there"
        peer.sendall(b"back")
        assert client.recv(100) == b"back"


def test_what_was_sent_while_cut_arrives_later(proxy: TcpProxy, server: socket.socket) -> None:
    with connect(proxy) as client, server.accept()[0] as peer:
        proxy.cut()
        client.sendall(b"late")
        peer.setblocking(False)
        with pytest.raises(BlockingIOError):
            peer.recv(100)
        peer.setblocking(True)
        peer.settimeout(SECONDS)
        proxy.mend()
        assert peer.recv(100) == b"late"


def test_closes_all_connections(proxy: TcpProxy, server: socket.socket) -> None:
    with connect(proxy) as client, server.accept()[0] as peer:
        client.sendall(b"x")
        assert peer.recv(1) == b"x"
        assert proxy.close_connections() == 1
        assert client.recv(1) == b""
        assert peer.recv(1) == b""
    # A new connection passes
    with connect(proxy) as client, server.accept()[0] as peer:
        client.sendall(b"y")
        assert peer.recv(1) == b"y"
