# SPDX-License-Identifier: Apache-2.0
"""Redis connections over TLS, with bounded and explained handshakes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import redis

from rpcapi import tls

# Arguments of tls.client_context by URL option.
_FILES = {
    "ssl_ca_certs": "ca_file",
    "ssl_ca_path": "ca_path",
    "ssl_certfile": "cert_file",
    "ssl_keyfile": "key_file",
    "ssl_password": "password",
}


class TlsConnection(redis.SSLConnection):
    _answered = False

    def _connect(self) -> Any:
        self._answered = False
        return super()._connect()  # type: ignore[no-untyped-call]

    def _wrap_socket_with_ssl(self, sock: Any) -> Any:
        # A server without TLS would wait for the rest of a command.
        sock.settimeout(self.socket_connect_timeout)
        try:
            secured = super()._wrap_socket_with_ssl(sock)  # type: ignore[no-untyped-call]
        except TimeoutError as error:
            why = "no answer to the TLS handshake: does the server's port use TLS?"
            raise self._failure(why) from error
        except OSError as error:
            raise self._failure(tls.describe(error, handshake=True)) from error
        secured.settimeout(self.socket_timeout)
        return secured

    def read_response(self, *args: Any, **options: Any) -> Any:
        with self._described():
            response = super().read_response(*args, **options)
        self._answered = True
        return response

    def send_packed_command(self, command: Any, check_health: bool = True) -> None:
        with self._described():
            super().send_packed_command(command, check_health)  # type: ignore[no-untyped-call]

    @contextmanager
    def _described(self) -> Iterator[None]:
        """Explain errors before the first answer: with TLS 1.3 a server rejects a client after the handshake."""
        try:
            yield
        except redis.ConnectionError as error:
            cause = error.__cause__ or error.__context__
            if self._answered or not isinstance(cause, OSError):
                raise
            raise self._failure(tls.describe(cause, handshake=True)) from error

    def _failure(self, why: str) -> redis.ConnectionError:
        return redis.ConnectionError(f"{self.host}:{self.port}: {why}")


def connection_options(url: str) -> dict[str, Any]:
    return {"connection_class": TlsConnection} if url.startswith("rediss://") else {}


def check_files(url: str, group: str) -> None:
    """Raise BadConfiguration, naming ``[group] url``, if a file named in a URL is unusable."""
    parts = urlsplit(url)
    if parts.scheme != "rediss":
        return
    files = {_FILES[name]: value for name, value in parse_qsl(parts.query) if name in _FILES}
    tls.client_context(f"[{group}] url", **files)
