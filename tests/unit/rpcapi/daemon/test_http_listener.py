# SPDX-License-Identifier: Apache-2.0
"""The HTTP server of daemons: its bounds, and TLS whose certificate is renewed."""

import contextlib
import functools
import shutil
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack.servers.ports import LOOPBACK, free_port
from rpcapi import errors, tls
from rpcapi.daemon import http_listener, http_requests
from rpcapi.daemon.http_listener import ContextSource, HttpServer
from tests.support.certificates import write_certificates
from tests.support.slow_clients import IN_BODY, IN_HEADER, slow_clients

MAX_BODY = 64 << 10  # bytes


def hello(environ, start_response):
    body = environ["wsgi.input"].read()
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{environ['wsgi.url_scheme']} {len(body)}".encode()]


@contextlib.contextmanager
def serving(make_context: ContextSource | None = None, threads: int = 2) -> Iterator[tuple[int, HttpServer]]:
    port = free_port()
    http = HttpServer(hello, LOOPBACK, port, threads, max_body=MAX_BODY, shutdown_s=5, tls=make_context)
    http.start()
    try:
        yield port, http
    finally:
        http.stop()
        http.wait()


def fetch(url: str, body: bytes | None = None, authority: Path | None = None) -> str:
    context = ssl.create_default_context(cafile=authority) if authority else None
    with urllib.request.urlopen(url, data=body, timeout=10, context=context) as answer:  # noqa: S310 - of this test
        return answer.read().decode()


def test_requests_are_answered() -> None:
    with serving() as (port, http):
        assert fetch(http.url, b"12345") == "http 5"
        assert http.url == f"http://{LOOPBACK}:{port}"


def test_large_body_is_refused() -> None:
    with serving() as (_, http), pytest.raises(urllib.error.HTTPError) as caught:
        fetch(http.url, bytes(MAX_BODY + 1))
    assert caught.value.code == 413
    caught.value.close()


def test_large_header_is_refused() -> None:
    with serving() as (port, _), socket.create_connection((LOOPBACK, port), timeout=10) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + bytes(http_listener.MAX_HEADERS) + b"\r\n\r\n")
        assert b" 413 " in connection.recv(100)


def test_port_in_use_is_named() -> None:
    with serving() as (port, _), pytest.raises(errors.BadConfiguration, match=rf"{port} cannot be served"):
        HttpServer(hello, LOOPBACK, port, 1, max_body=1, shutdown_s=1).start()


def test_client_that_sends_nothing_does_not_stop_the_others(tmp_path: Path) -> None:
    certificates = write_certificates(tmp_path)
    context = functools.partial(
        tls.server_context, "x", cert_file=str(certificates / "node.pem"), key_file=str(certificates / "node.key")
    )
    with serving(context) as (port, http), contextlib.ExitStack() as stack:
        for _ in range(4):  # more than there are threads
            stack.enter_context(socket.create_connection((LOOPBACK, port), timeout=10))
        assert fetch(http.url, authority=certificates / "ca.pem") == "https 0"


@pytest.mark.parametrize("begin", [b"", b"G", IN_HEADER, IN_BODY])
def test_slow_clients_keep_no_thread_from_others(monkeypatch: pytest.MonkeyPatch, begin: bytes) -> None:
    """Given more slow clients than threads, all of which the server would wait for longer than a client does."""
    monkeypatch.setattr(http_requests, "HEADER_SECONDS", 600)
    monkeypatch.setattr(http_requests, "BODY_SECONDS", 600)
    with serving(threads=8) as (port, http), slow_clients(port, begin):
        assert fetch(http.url, b"12345") == "http 5"


def test_renewed_certificate_counts_after_a_reload(tmp_path: Path) -> None:
    present, renewed = write_certificates(tmp_path / "1"), write_certificates(tmp_path / "2")
    context = functools.partial(
        tls.server_context, "x", cert_file=str(present / "node.pem"), key_file=str(present / "node.key")
    )
    with serving(context) as (_, http):
        assert fetch(http.url, authority=present / "ca.pem") == "https 0"
        for name in ("node.pem", "node.key"):
            shutil.copy(renewed / name, present / name)
        http.reset()
        assert fetch(http.url, authority=renewed / "ca.pem") == "https 0"

        (present / "node.pem").write_text("none")
        with pytest.raises(errors.BadConfiguration, match=r"node\.pem"):
            http.reset()
        assert fetch(http.url, authority=renewed / "ca.pem") == "https 0"
