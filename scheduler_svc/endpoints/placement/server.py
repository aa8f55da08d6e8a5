# SPDX-License-Identifier: Apache-2.0
"""The HTTP server of one process: cheroot's, with all error responses in the form of the API.

Any other WSGI server can serve the application as well.
"""

import json
import threading

import cheroot.server
from cheroot import wsgi
from oslo_log import log

from rpcapi import errors
from scheduler_svc.endpoints.placement.authentication import Application
from scheduler_svc.endpoints.placement.messages import JSON, MAX_BODY
from scheduler_svc.placement.problems import UNDEFINED

LOG = log.getLogger(__name__)

MAX_HEADERS = 64 << 10  # bytes of a request's header
IDLE_SECONDS = 30  # after which a connection without a request, or with half of one, is closed
BACKLOG = 1024
FIRST_ERROR = 400  # HTTP status


class _Request(cheroot.server.HTTPRequest):
    """Answers requests that cannot be parsed, or are too large, as the API answers errors."""

    def simple_response(self, status: str, msg: str = "") -> None:
        """Write a response without the application, and close the connection after an error."""
        code, _, title = str(status).partition(" ")
        if int(code) < FIRST_ERROR:
            super().simple_response(status, msg)
            return
        self.close_connection = True
        error = {"status": int(code), "title": title, "detail": msg or title, "code": UNDEFINED}
        body = json.dumps({"errors": [error]}).encode()
        head = f"{self.server.protocol} {status}\r\nContent-Type: {JSON}\r\nContent-Length: {len(body)}\r\n"
        try:
            self.conn.wfile.write(f"{head}Connection: close\r\n\r\n".encode("latin-1") + body)
        except OSError:
            LOG.debug("A client closed its connection before it was answered %s", code)


class _Connection(cheroot.server.HTTPConnection):
    RequestHandlerClass = _Request


class _Server(wsgi.Server):
    ConnectionClass = _Connection
    max_request_header_size = MAX_HEADERS
    max_request_body_size = MAX_BODY

    def error_log(self, msg: str = "", level: int = log.INFO, traceback: bool = False) -> None:
        """Write a line to the log."""
        LOG.log(level, "%s", msg, exc_info=traceback)


class HttpServer:
    """Serves an application on an address that all worker processes listen to."""

    def __init__(self, application: Application, host: str, port: int, threads: int, *, shutdown_s: int) -> None:
        """``shutdown_s`` limits how long requests in progress may take once it is stopped."""
        self._server = _Server(
            (host, port),
            application,
            numthreads=threads,
            request_queue_size=BACKLOG,
            timeout=IDLE_SECONDS,
            shutdown_timeout=shutdown_s,
            reuse_port=True,
        )
        self._thread = threading.Thread(target=self._server.serve, name="http", daemon=True)

    @property
    def url(self) -> str:
        """The address, for logs."""
        host, port = self._server.bind_addr[:2]
        return f"http://{host}:{port}"

    def start(self) -> None:
        """Listen and serve; raises BadConfiguration where the address cannot be bound."""
        try:
            self._server.prepare()
        except OSError as error:
            raise errors.BadConfiguration(why=f"[placement] {self.url} cannot be served: {error}") from error
        self._thread.start()

    def stop(self) -> None:
        """Accept no more connections, and answer the requests that were read."""
        self._server.stop()

    def wait(self) -> None:
        """Wait until all threads have ended."""
        if self._thread.ident is not None:
            self._thread.join()
