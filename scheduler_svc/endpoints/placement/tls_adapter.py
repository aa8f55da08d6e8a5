# SPDX-License-Identifier: Apache-2.0
"""TLS of the HTTP server."""

import socket
import ssl
from collections.abc import Callable
from typing import Any

from cheroot.ssl import Adapter

from scheduler_svc.endpoints.placement.timed_sockets import make_file

ContextSource = Callable[[], ssl.SSLContext]


class TlsAdapter(Adapter):
    """Wraps accepted connections. The handshake is part of their first read: the thread that accepts waits for nobody.

    ``load`` reads the certificate and raises BadConfiguration where it cannot be used.
    """

    def __init__(self, load: ContextSource) -> None:
        self._load = load
        self._context = load()

    def reload(self) -> None:
        """Read the certificate again, for new connections; raises BadConfiguration, and the former one remains."""
        self._context = self._load()

    def bind(self, sock: socket.socket) -> socket.socket:
        """Return the listening socket as it is."""
        return sock

    def wrap(self, sock: socket.socket) -> tuple[socket.socket, dict[str, Any]]:
        """Return an accepted connection with TLS, and its variables of WSGI."""
        wrapped = self._context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        return wrapped, self.get_environ()

    def get_environ(self) -> dict[str, Any]:
        """Return the variables of WSGI of each request."""
        return {"wsgi.url_scheme": "https", "HTTPS": "on"}

    def makefile(self, sock: socket.socket, mode: str = "r", bufsize: int = -1) -> Any:
        """Return the reader or the writer of a connection."""
        return make_file(sock, mode, bufsize)
