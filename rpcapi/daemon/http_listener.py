# SPDX-License-Identifier: Apache-2.0
"""What the HTTP servers of daemons share, all of them cheroot's: how connections get a thread, TLS, and their log."""

import socket
import ssl
import threading
from collections.abc import Callable
from typing import Any

from cheroot import wsgi
from cheroot.makefile import MakeFile
from cheroot.ssl import Adapter
from oslo_log import log

from rpcapi import errors

LOG = log.getLogger(__name__)

ContextSource = Callable[[], ssl.SSLContext]
# Returns the reader or the writer of a connection, by its socket, mode and size of buffer.
FileMaker = Callable[[socket.socket, str, int], Any]


class TlsAdapter(Adapter):
    """Wraps accepted connections. The handshake is part of their first read: the thread that accepts waits for nobody.

    ``load`` reads the certificate and raises BadConfiguration where it cannot be used.
    """

    def __init__(self, load: ContextSource, make_file: FileMaker = MakeFile) -> None:
        self._load = load
        self._make_file = make_file
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
        return self._make_file(sock, mode, bufsize)


class Listener(wsgi.Server):
    """Cheroot's server, in which a connection that sends nothing takes no thread."""

    def process_conn(self, conn: Any) -> None:
        """Give a thread to a connection with something to read; a new one waits without a thread for its first bytes.

        Cheroot would give it a thread at once.
        """
        if conn.last_used is None:
            self.put_conn(conn)
        else:
            super().process_conn(conn)

    def error_log(self, msg: str = "", level: int = log.INFO, traceback: bool = False) -> None:
        """Write a line to the log."""
        LOG.log(level, "%s", msg, exc_info=traceback)


class HttpServer:
    """A listener in a thread of its own, with TLS where an adapter is given."""

    def __init__(self, listener: Listener, tls: TlsAdapter | None) -> None:
        self._listener = listener
        self._tls = listener.ssl_adapter = tls
        self._thread = threading.Thread(target=listener.serve, name="http", daemon=True)

    @property
    def url(self) -> str:
        """The address, for logs."""
        host, port = self._listener.bind_addr[:2]
        return f"{'http' if self._tls is None else 'https'}://{host}:{port}"

    def start(self) -> None:
        """Listen and serve; raises BadConfiguration where the address cannot be bound."""
        try:
            self._listener.prepare()
        except OSError as error:
            raise errors.BadConfiguration(why=f"{self.url} cannot be served: {error}") from error
        self._thread.start()

    def reload(self) -> None:
        """Read the certificate again; raises BadConfiguration, and the former one remains."""
        if self._tls is not None:
            self._tls.reload()

    def stop(self) -> None:
        """Accept no more connections, and answer the requests that were read."""
        self._listener.stop()

    def wait(self) -> None:
        """Wait until all threads have ended."""
        if self._thread.ident is not None:
            self._thread.join()
