# SPDX-License-Identifier: Apache-2.0
"""Types shared by the application and its page handlers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from webob import Request, Response

from rpcapi.admin.session import Session
from rpcapi.dashboard.sign_in import LoginSession

MAX_NUMBER = 6  # digits


class PageNotFound(Exception):
    """Raised with a message for the user if there is nothing to show."""


class BadInput(Exception):
    """Raised with a message for the user if a form or URL has an unusable value."""


class Page(NamedTuple):
    template: str
    values: Mapping[str, Any]
    status: int = 200


@dataclass(frozen=True, slots=True)
class PageRequest:
    http: Request
    login: LoginSession
    session: Session

    def text(self, name: str) -> str:
        return str(self.http.GET.get(name, "")).strip()

    def choice(self, name: str, choices: Mapping[str, Any], default: str) -> str:
        value = self.text(name) or default
        if value not in choices:
            raise BadInput(f"{name} must be one of {', '.join(choices)}, not {value[:40]!r}.")
        return value

    def number(self, name: str, default: int, most: int) -> int:
        text = self.text(name) or str(default)
        if not (text.isascii() and text.isdigit() and len(text) <= MAX_NUMBER and 0 < int(text) <= most):
            raise BadInput(f"{name} must be a number from 1 to {most}, not {text[:40]!r}.")
        return int(text)


Handler = Callable[..., Page | Response]


class PageRoute(NamedTuple):
    """Handler of requests whose path matches ``pattern``; named groups become its arguments."""

    method: str
    pattern: str
    handler: Handler
