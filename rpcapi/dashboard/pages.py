# SPDX-License-Identifier: Apache-2.0
"""What the application and the handlers of its pages share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from webob import Request, Response

from rpcapi.cli.session import Session
from rpcapi.dashboard.login_sessions import LoginSession

MAX_NUMBER = 6  # digits


class PageNotFound(Exception):
    """Raised with a sentence where there is nothing to show."""


class BadInput(Exception):
    """Raised with a sentence where a form or URL has a value that cannot be used."""


class Page(NamedTuple):
    """A page to render: its template and the values in it."""

    template: str
    values: Mapping[str, Any]
    status: int = 200


@dataclass(frozen=True, slots=True)
class Call:
    """One request of a browser: ``session`` makes calls in the name of the person of ``login``."""

    request: Request
    login: LoginSession
    session: Session

    def text(self, name: str) -> str:
        """Return a parameter of the URL without surrounding blanks, "" where it is missing."""
        return str(self.request.GET.get(name, "")).strip()

    def choice(self, name: str, choices: Mapping[str, Any], default: str) -> str:
        """Return a parameter of the URL that is one of ``choices``; raises BadInput for another value."""
        value = self.text(name) or default
        if value not in choices:
            raise BadInput(f"{name} must be one of {', '.join(choices)}, not {value[:40]!r}.")
        return value

    def number(self, name: str, default: int, most: int) -> int:
        """Return a parameter of the URL that is a number from 1 to ``most``; raises BadInput otherwise."""
        text = self.text(name) or str(default)
        if not (text.isascii() and text.isdigit() and len(text) <= MAX_NUMBER and 0 < int(text) <= most):
            raise BadInput(f"{name} must be a number from 1 to {most}, not {text[:40]!r}.")
        return int(text)


Handler = Callable[..., Page | Response]


class Route(NamedTuple):
    """A handler of the requests whose path matches a pattern, whose groups are its arguments."""

    method: str
    pattern: str
    handler: Handler
