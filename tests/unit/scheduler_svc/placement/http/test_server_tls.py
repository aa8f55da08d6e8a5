# SPDX-License-Identifier: Apache-2.0
"""The HTTP server with TLS."""

import functools
import http.client
import shutil
import socket
import ssl

import pytest

from devstack.servers.ports import free_port
from rpcapi import errors, tls
from scheduler_svc.placement.http.server import make_server
from tests.support.certificates import SERVER_NAME, write_certificates

SECONDS = 20  # less than the server gives an idle connection


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return write_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def folder(certificates, tmp_path):
    """Files that a test may replace."""
    return shutil.copytree(certificates, tmp_path / "tls")


@pytest.fixture
def start(folder):
    servers = []

    def start_server(**files):
        names = {"cert_file": "server.pem", "key_file": "server.key", **files}
        paths = {option: str(folder / name) for option, name in names.items()}
        load = functools.partial(tls.server_context, "the option", **paths)
        server = make_server(echo_scheme, "127.0.0.1", free_port(), 2, shutdown_s=SECONDS, tls=load)
        server.start()
        servers.append(server)
        return server

    yield start_server
    for server in servers:
        server.stop()
        server.wait()


def echo_scheme(environ, start_response):
    body = environ["wsgi.url_scheme"].encode()
    start_response("200 OK", [("content-length", str(len(body)))])
    return [body]


def port_of(server):
    return int(server.url.rpartition(":")[2])


def context_of(folder, authority="ca.pem", certificate=None):
    context = ssl.create_default_context(cafile=folder / authority)
    if certificate is not None:
        context.load_cert_chain(folder / f"{certificate}.pem", folder / f"{certificate}.key")
    return context


def get(server, context):
    """Return the body of the answer to a request over TLS; the server's name is verified."""
    with (
        socket.create_connection(("127.0.0.1", port_of(server)), timeout=SECONDS) as plain,
        context.wrap_socket(plain, server_hostname=SERVER_NAME) as connection,
    ):
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        response = http.client.HTTPResponse(connection)
        response.begin()
        return response.read()


def test_requests_are_encrypted_and_links_are_https(start, folder):
    server = start()
    assert server.url.startswith("https://")
    assert get(server, context_of(folder)) == b"https"
    with pytest.raises(ssl.SSLCertVerificationError):
        get(server, context_of(folder, "other-ca.pem"))


def test_client_without_a_certificate_of_the_authority_is_refused(start, folder):
    server = start(client_ca_file="ca.pem")
    assert get(server, context_of(folder, certificate="client")) == b"https"
    for certificate in (None, "stranger"):
        with pytest.raises((OSError, http.client.HTTPException)):
            get(server, context_of(folder, certificate=certificate))
    assert get(server, context_of(folder, certificate="client")) == b"https"


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"])
def test_clients_that_do_not_speak_tls_keep_nobody_waiting(start, folder, sent):
    server = start()
    idle = [socket.create_connection(("127.0.0.1", port_of(server)), timeout=SECONDS) for _ in range(3 if sent else 20)]
    try:
        for connection in idle[: 1 if sent.startswith(b"\x16") else None]:
            connection.sendall(sent)
        assert get(server, context_of(folder)) == b"https"
    finally:
        for connection in idle:
            connection.close()


def test_reload_serves_a_renewed_certificate_and_keeps_the_former_one_if_it_is_malformed(start, folder, tmp_path):
    server = start()
    renewed = write_certificates(tmp_path / "renewed")
    for name in ("server.pem", "server.key"):
        shutil.copy(renewed / name, folder / name)
    assert get(server, context_of(folder)) == b"https"
    server.reset()
    assert get(server, context_of(renewed)) == b"https"
    (folder / "server.key").write_text("no key")
    with pytest.raises(errors.BadConfiguration, match=r"server\.key are not a server certificate and its key"):
        server.reset()
    assert get(server, context_of(renewed)) == b"https"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"cert_file": "absent.pem"}, r"the option: .*absent\.pem cannot be read"),
        ({"key_file": "client.key"}, "not a server certificate and its key"),
        ({"client_ca_file": "server.key"}, "has no CA certificate"),
    ],
)
def test_file_that_cannot_be_used_is_a_bad_configuration(start, files, message):
    with pytest.raises(errors.BadConfiguration, match=message):
        start(**files)
