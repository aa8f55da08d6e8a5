# SPDX-License-Identifier: Apache-2.0
"""Connections to a server that closes them, or that has a certificate."""

import contextlib
import functools
import socket
import struct
import threading

import pytest
import urllib3

from rpcapi import tls
from scheduler_svc.placement.shadow.connections import HttpServerAt
from scheduler_svc.placement.shadow.exchanges import NotAnswered, SentRequest
from tests.support.certificates import write_certificates
from tests.support.scheduler.served import serve

SECONDS = 30
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close at once, with RST


class ClosingServer:
    """Serves connections one after the other, each as the next of ``scripts`` says: what is sent for each request."""

    def __init__(self, scripts, *, resets=False):
        self.requests = []  # by connection, the methods that were read
        self._scripts = scripts
        self._resets = resets
        self.may_reset, self.closed = threading.Event(), threading.Event()  # the first connection
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        for answers in self._scripts:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # stopped before the last script
            self.requests.append([])
            with connection:
                connection.settimeout(SECONDS)
                for answer in answers:
                    head = connection.recv(1 << 16)
                    self.requests[-1].append(head.partition(b" ")[0].decode())
                    connection.sendall(answer)
                if self._resets and self.may_reset.wait(SECONDS):
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            self.closed.set()

    def stop(self):
        self._listener.close()


@pytest.fixture
def start():
    with contextlib.ExitStack() as stack:

        def start_server(*scripts, **options):
            server = ClosingServer(scripts, **options)
            stack.callback(server.stop)
            end = HttpServerAt(server.url, SECONDS, 1)
            stack.callback(end.close)
            return server, end

        yield start_server


def request(method):
    return SentRequest(method, "/traits", {}, b"")


def test_read_on_a_connection_that_closes_is_sent_again(start):
    server, end = start([ANSWER, b""], [ANSWER])
    assert end.send(request("GET")).body == b"ok"
    assert end.send(request("GET")).body == b"ok"
    assert server.requests == [["GET", "GET"], ["GET"]]


def test_write_that_may_have_been_carried_out_is_not_sent_again(start):
    server, end = start([ANSWER, b""], [ANSWER])
    end.send(request("GET"))
    with pytest.raises(NotAnswered):
        end.send(request("PUT"))
    assert end.send(request("GET")).status == 200
    assert server.requests == [["GET", "PUT"], ["GET"]]


def test_write_that_could_not_be_sent_is_sent_on_a_new_connection(start, monkeypatch):
    # The client looks whether the server closed an idle connection; it may close it just afterwards.
    monkeypatch.setattr(urllib3.connectionpool, "is_connection_dropped", lambda connection: False)
    server, end = start([ANSWER], [ANSWER], resets=True)
    end.send(request("GET"))
    server.may_reset.set()
    assert server.closed.wait(SECONDS)
    assert end.send(request("PUT")).body == b"ok"
    assert server.requests == [["GET"], ["PUT"]]


def test_read_is_sent_twice_at_most(start):
    server, end = start([b""], [b""], [ANSWER])
    with pytest.raises(NotAnswered):
        end.send(request("GET"))
    assert server.requests == [["GET"], ["GET"]]


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_request_is_not_repeated_when_part_of_the_answer_arrived(start, method):
    server, end = start([ANSWER[:-1]], [ANSWER])
    with pytest.raises(NotAnswered):
        end.send(request(method))
    assert server.requests == [[method]]


def echo_scheme(environ, start_response):
    start_response("200 OK", [("content-length", "5")])
    return [environ["wsgi.url_scheme"].encode()]


def test_certificates_of_both_ends_are_verified_and_read_again(tmp_path):
    folder = write_certificates(tmp_path / "tls")
    server_files = {"cert_file": "node.pem", "key_file": "node.key", "client_ca_file": "ca.pem"}
    client_files = {"ca_file": "authority.pem", "cert_file": "client.pem", "key_file": "client.key"}

    def source(load, files):
        return functools.partial(load, "the option", **{name: str(folder / file) for name, file in files.items()})

    (folder / "authority.pem").write_bytes((folder / "other-ca.pem").read_bytes())
    with contextlib.ExitStack() as stack:
        url = serve(stack, echo_scheme, source(tls.server_context, server_files))
        end = HttpServerAt(url, SECONDS, 1, source(tls.client_context, client_files))
        with pytest.raises(NotAnswered, match="CERTIFICATE_VERIFY_FAILED"):
            end.send(request("GET"))
        (folder / "authority.pem").write_bytes((folder / "ca.pem").read_bytes())
        end.reset()
        assert end.send(request("GET")).body == b"https"
        end.close()
        strangers = HttpServerAt(url, SECONDS, 1, source(tls.client_context, {"ca_file": "ca.pem"}))
        with pytest.raises(NotAnswered):
            strangers.send(request("GET"))
