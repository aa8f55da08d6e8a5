# SPDX-License-Identifier: Apache-2.0
"""The HTTP server of the dashboard: cheroot's, with bounds."""

import threading
from typing import Any

from rpcapi import errors
from rpcapi.daemon.http_listener import ContextSource, Listener, TlsAdapter

MAX_HEADERS = 32 << 10  # bytes
MAX_BODY = 64 << 10  # bytes: forms only
CONNECTION_SECONDS = 10
SHUTDOWN_SECONDS = 5


class _Server(Listener):
    max_request_header_size = MAX_HEADERS
    max_request_body_size = MAX_BODY


class HttpServer:
    """Serves an application on one address, with TLS where ``make_context`` is given."""

    def __init__(
        self, application: Any, host: str, port: int, threads: int, make_context: ContextSource | None
    ) -> None:
        self._server = _Server(
            (host, port),
            application,
            numthreads=threads,
            timeout=CONNECTION_SECONDS,
            shutdown_timeout=SHUTDOWN_SECONDS,
        )
        self._tls = self._server.ssl_adapter = None if make_context is None else TlsAdapter(make_context)
        self._thread = threading.Thread(target=self._server.serve, name="http", daemon=True)

    @property
    def url(self) -> str:
        """The address, for logs."""
        host, port = self._server.bind_addr[:2]
        return f"{'http' if self._tls is None else 'https'}://{host}:{port}"

    def start(self) -> None:
        """Listen and serve; raises BadConfiguration where the address cannot be bound."""
        try:
            self._server.prepare()
        except OSError as error:
            raise errors.BadConfiguration(why=f"{self.url} cannot be served: {error}") from error
        self._thread.start()

    def reload(self) -> None:
        """Read the certificate again; raises BadConfiguration, and the former one remains."""
        if self._tls is not None:
            self._tls.reload()

    def stop(self) -> None:
        """Accept no more connections, and answer the requests that were read."""
        self._server.stop()

    def wait(self) -> None:
        """Wait until all threads have ended."""
        if self._thread.ident is not None:
            self._thread.join()
