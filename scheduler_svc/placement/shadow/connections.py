# SPDX-License-Identifier: Apache-2.0
"""Persistent connections to both servers, with reconnects, and TLS for https URLs."""

import ssl
from collections.abc import Callable
from typing import Any

import urllib3
from urllib3.exceptions import HTTPError, ProtocolError

from scheduler_svc.placement.shadow.exchanges import NotAnswered, ProxiedResponse, SentRequest, end_to_end

ContextSource = Callable[[], ssl.SSLContext]


class _NotSent(ProtocolError):
    """Raised when a connection breaks before the request's header is written. No server has executed the request."""


class _HeaderWriter:
    """Connection that tells an unwritten header from a missing answer."""

    def endheaders(self, *arguments: Any, **options: Any) -> None:
        try:
            super().endheaders(*arguments, **options)  # type: ignore[misc]
        except ConnectionError as error:
            raise _NotSent("Connection broken.", error) from error


class HttpServerAt:
    """Server at a URL, with up to ``connections`` kept open. Thread-safe.

    If a connection breaks before the answer begins, a request is sent again if it is safe or its header was not
    written: servers close idle connections, even with a request on its way.
    """

    def __init__(self, url: str, timeout_s: float, connections: int, load_context: ContextSource | None = None) -> None:
        """``load_context`` returns the TLS context for https. Default: one with the system's CAs."""
        self._url = url.rstrip("/")
        self._parsed = urllib3.util.parse_url(self._url)
        self._timeout = urllib3.Timeout(timeout_s)
        self._connections = connections
        self._load_context = load_context or ssl.create_default_context
        self.reset()

    def reset(self) -> None:
        """Open new connections, with the current certificates, for later requests. Raises BadConfiguration."""
        self._context = self._load_context() if self._parsed.scheme == "https" else None
        self._pool = self._make_pool(self._connections)

    def send(self, request: SentRequest) -> ProxiedResponse:
        try:
            response = self._begin(request)
            content = response.read(decode_content=False)
        except HTTPError as error:
            raise NotAnswered(f"{self._url} did not answer: {error}") from error
        return ProxiedResponse(response.status, end_to_end(response.headers.items()), content)

    def close(self) -> None:
        self._pool.close()

    def _begin(self, request: SentRequest) -> urllib3.BaseHTTPResponse:
        try:
            return self._send_by(self._pool, request)
        except ProtocolError as error:
            if request.is_write and not isinstance(error, _NotSent):
                raise  # the server may have executed the request
        return self._send_by(self._make_pool(1), request)

    def _send_by(self, pool: urllib3.HTTPConnectionPool, request: SentRequest) -> urllib3.BaseHTTPResponse:
        return pool.urlopen(
            request.method,
            (self._parsed.path or "") + request.target,
            body=request.body or None,
            headers={**request.headers, "Accept-Encoding": "identity"},
            retries=False,
            redirect=False,
            preload_content=False,
        )

    def _make_pool(self, connections: int) -> urllib3.HTTPConnectionPool:
        host, port = self._parsed.host or "", self._parsed.port
        limits: dict[str, Any] = {"timeout": self._timeout, "maxsize": connections}
        pool = (
            urllib3.HTTPConnectionPool(host, port, **limits)
            if self._context is None
            else urllib3.HTTPSConnectionPool(host, port, **limits, ssl_context=self._context)
        )
        pool.ConnectionCls = type("Connection", (_HeaderWriter, pool.ConnectionCls), {})
        return pool
