# SPDX-License-Identifier: Apache-2.0
"""Requests with their answers, and servers that answer requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import urllib3

SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
FIRST_ERROR = 400  # HTTP status

# Headers of one connection, and the coding that urllib3 would have to undo.
NOT_FORWARDED = frozenset(
    (
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "trailers",
        "transfer-encoding",
        "upgrade",
        "expect",
        "content-length",
        "accept-encoding",
    )
)


class NotAnswered(Exception):
    """Raised when a server did not answer; whether it applied the request is unknown."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, headers and body of an answer."""

    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes

    @property
    def is_error(self) -> bool:
        """Whether the request was refused, or failed."""
        return self.status >= FIRST_ERROR


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request as it is passed on; ``target`` is the path with the query string."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_write(self) -> bool:
        """Whether the request may change something."""
        return self.method not in SAFE_METHODS


class Server(Protocol):
    """Answers requests."""

    def send(self, request: SentRequest) -> Answer:
        """Return the answer; raises NotAnswered."""


class HttpServerAt:
    """The server at a URL. For any number of threads; ``connections`` are kept open."""

    def __init__(self, url: str, timeout_s: float, connections: int) -> None:
        self._url = url.rstrip("/")
        self._pool = urllib3.PoolManager(maxsize=connections, timeout=urllib3.Timeout(timeout_s), retries=False)

    def send(self, request: SentRequest) -> Answer:
        """Return the answer; raises NotAnswered."""
        try:
            response: Any = self._pool.request(
                request.method,
                self._url + request.target,
                body=request.body or None,
                headers={**request.headers, "Accept-Encoding": "identity"},
                redirect=False,
            )
        except urllib3.exceptions.HTTPError as error:
            raise NotAnswered(f"{self._url} did not answer: {error}") from error
        headers = [(name, value) for name, value in response.headers.items() if name.lower() not in NOT_FORWARDED]
        return Answer(response.status, headers, response.data)

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()
