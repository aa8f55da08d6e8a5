# SPDX-License-Identifier: Apache-2.0
"""HTTP server of a daemon, based on cheroot; slow clients do not occupy threads."""

import select
import socket
import ssl
import threading
from collections.abc import Callable
from typing import Any

from cheroot import wsgi
from cheroot.ssl import Adapter
from oslo_log import log

from rpcapi import errors
from rpcapi.daemon.http_requests import Connection, Gateway
from rpcapi.daemon.timed_sockets import IDLE_SECONDS, make_file

LOG = log.getLogger(__name__)

MAX_HEADERS = 64 << 10  # bytes of a request header
BACKLOG = 1024
NEXT_REQUEST_MS = 5  # a thread waits this long for the next request, if other threads are free

ContextSource = Callable[[], ssl.SSLContext]
# (status, title, message) to (headers, body) of an error response.
RenderError = Callable[[int, str, str], tuple[list[tuple[str, str]], bytes]]


class TlsAdapter(Adapter):
    """TLS for accepted connections. The first read does the handshake, so that it cannot block the accepting thread."""

    def __init__(self, load: ContextSource) -> None:
        self._load = load
        self._context = load()

    def reload(self) -> None:
        """Read the certificate again for new connections; raises BadConfiguration and keeps the previous one."""
        self._context = self._load()

    def bind(self, sock: socket.socket) -> socket.socket:
        return sock

    def wrap(self, sock: socket.socket) -> tuple[socket.socket, dict[str, Any]]:
        wrapped = self._context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        return wrapped, self.get_environ()

    def get_environ(self) -> dict[str, Any]:
        return {"wsgi.url_scheme": "https", "HTTPS": "on"}

    def makefile(self, sock: socket.socket, mode: str = "r", bufsize: int = -1) -> Any:
        return make_file(sock, mode, bufsize)


def plain_error(status: int, title: str, message: str) -> tuple[list[tuple[str, str]], bytes]:
    body = f"{message or title}\n".encode()
    return [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))], body


class _Listener(wsgi.Server):
    """cheroot server in which silent connections occupy no thread."""

    ConnectionClass = Connection
    max_request_header_size = MAX_HEADERS
    render_error: RenderError
    listening: socket.socket | None = None

    def bind(self, family: int, type: int, proto: int = 0) -> Any:
        self.socket = self.listening or super().bind(family, type, proto)
        return self.socket

    def prepare(self) -> None:
        self._waiting = threading.BoundedSemaphore(max(self.numthreads - 1, 1))
        self.incomplete_requests = threading.BoundedSemaphore(max(self.numthreads // 2, 1))
        super().prepare()

    def await_request(self, poll: select.poll) -> bool:
        """Return whether the next request arrives soon; False at once if other connections need the thread."""
        if not self.ready or self.requests.qsize or not self._waiting.acquire(blocking=False):
            return False
        try:
            return bool(poll.poll(NEXT_REQUEST_MS))
        finally:
            self._waiting.release()

    def process_conn(self, conn: Any) -> None:
        """Give a thread only to a readable connection; cheroot would give one to each new connection."""
        if conn.last_used is None:
            self.put_conn(conn)
        else:
            super().process_conn(conn)

    def error_log(self, msg: str = "", level: int = log.INFO, traceback: bool = False) -> None:
        LOG.log(level, "%s", msg, exc_info=traceback)


class HttpServer:
    """HTTP server in its own thread, with rpcapi.daemon's service protocol; raises BadConfiguration.

    ``shutdown_s``: Seconds for requests in progress after stop(). ``listening``: Socket that already listens.
    """

    def __init__(
        self,
        application: Any,
        host: str,
        port: int,
        threads: int,
        *,
        max_body: int,
        shutdown_s: int,
        tls: ContextSource | None = None,
        reuse_port: bool = False,
        listening: socket.socket | None = None,
        render_error: RenderError = plain_error,
    ) -> None:
        self._listener = listener = _Listener(
            (host, port),
            application,
            numthreads=threads,
            request_queue_size=BACKLOG,
            timeout=IDLE_SECONDS,
            shutdown_timeout=shutdown_s,
            reuse_port=reuse_port,
        )
        listener.gateway = Gateway
        listener.listening = listening
        listener.max_request_body_size = max_body
        listener.render_error = render_error
        self._tls = listener.ssl_adapter = None if tls is None else TlsAdapter(tls)
        self._thread = threading.Thread(target=listener.serve, name="http", daemon=True)

    @property
    def url(self) -> str:
        host, port = self._listener.bind_addr[:2]
        return f"{'http' if self._tls is None else 'https'}://{host}:{port}"

    def start(self) -> None:
        """Listen and serve; raises BadConfiguration if the address cannot be bound."""
        try:
            self._listener.prepare()
        except OSError as error:
            raise errors.BadConfiguration(why=f"{self.url} cannot be served: {error}") from error
        self._thread.start()

    def reset(self) -> None:
        if self._tls is not None:
            self._tls.reload()

    def stop(self) -> None:
        self._listener.stop()

    def wait(self) -> None:
        if self._thread.ident is not None:
            self._thread.join()
