# SPDX-License-Identifier: Apache-2.0
"""Requests with their answers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
FIRST_ERROR = 400  # HTTP status

# Headers of one connection, and the coding of bodies, which are compared.
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
    """Return the headers that a proxy passes on: not those of the connection, nor those that Connection names.

    https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1
    """
    headers = list(headers)
    named = {
        option.strip().lower() for name, text in headers if name.lower() == "connection" for option in text.split(",")
    }
    return [(name, text) for name, text in headers if name.lower() not in _NOT_FORWARDED | named]


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
