# SPDX-License-Identifier: Apache-2.0
"""Requests and their answers, as the proxy forwards them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
FIRST_ERROR = 400  # smallest HTTP status of an error

# Hop-by-hop headers, and headers about the encoding of bodies: the shadow compares plain bodies.
_NOT_FORWARDED = frozenset(
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


def end_to_end(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the headers that are not hop by hop (https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1)."""
    headers = list(headers)
    named = {
        option.strip().lower() for name, text in headers if name.lower() == "connection" for option in text.split(",")
    }
    return [(name, text) for name, text in headers if name.lower() not in _NOT_FORWARDED | named]


class NotAnswered(Exception):
    """Raised when a server did not answer; whether it applied the request is unknown."""


@dataclass(frozen=True, slots=True)
class ProxiedResponse:
    status: int
    headers: Sequence[tuple[str, str]]
    body: bytes

    @property
    def is_error(self) -> bool:
        return self.status >= FIRST_ERROR


@dataclass(frozen=True, slots=True)
class SentRequest:
    """Forwarded request; ``target`` is the path with the query string."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_write(self) -> bool:
        return self.method not in SAFE_METHODS
