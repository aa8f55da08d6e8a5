# SPDX-License-Identifier: Apache-2.0
"""The client of nova-api repeats what a connection that was cut left open."""

import socket
import threading
from collections.abc import Iterator, Sequence

import pytest
import requests

from devstack.nova.client import DELETE_ATTEMPTS, CallFailed, NovaClient

DELETED, NOT_FOUND, REFUSED = (
    f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
    for status in ("204 No Content", "404 Not Found", "409 Conflict")
)
CUT = b""


class _CuttingServer:
    """Answers a connection each by the next of the given texts; an empty one closes the connection."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.answers: list[bytes] = []
        self.requests: list[bytes] = []
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                self.requests.append(connection.recv(1 << 16).partition(b"\r\n")[0])
                connection.sendall(self.answers.pop(0) if self.answers else CUT)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[_CuttingServer]:
    """A server that cuts connections; the client does not pause."""
    monkeypatch.setattr(NovaClient.delete.retry, "sleep", lambda _: None)  # type: ignore[attr-defined]
    server = _CuttingServer()
    yield server
    server.close()


@pytest.mark.parametrize("answers", [[DELETED], [CUT, DELETED], [CUT, CUT, NOT_FOUND]], ids=str)
def test_a_cut_delete_is_sent_again_until_the_thing_is_gone(server: _CuttingServer, answers: Sequence[bytes]) -> None:
    server.answers = list(answers)
    NovaClient(server.url).delete("/servers/1")
    assert server.requests == [b"DELETE /v2.1/servers/1 HTTP/1.1"] * len(answers)


def test_a_refused_delete_is_not_sent_again(server: _CuttingServer) -> None:
    server.answers = [REFUSED, DELETED]
    with pytest.raises(CallFailed, match="409"):
        NovaClient(server.url).delete("/servers/1")
    assert len(server.requests) == 1


def test_a_delete_that_is_always_cut_fails(server: _CuttingServer) -> None:
    with pytest.raises(requests.ConnectionError):
        NovaClient(server.url).delete("/servers/1")
    assert len(server.requests) == DELETE_ATTEMPTS
