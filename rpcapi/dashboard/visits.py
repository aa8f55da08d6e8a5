# SPDX-License-Identifier: Apache-2.0
"""The cookie of a person who has signed in, and what protects forms against requests that other sites make.

The cookie is signed and says who it is and until when; no list of sessions is kept. The key is made at each start of
the daemon, so that a restart ends all sessions.
"""

import hmac
import secrets
import time

from webob import Request, Response
from webob.cookies import CookieProfile, SignedSerializer

from rpcapi.dashboard.sign_in import Person

COOKIE = "gantt_dashboard"
SECURE_COOKIE = f"__Host-{COOKIE}"  # browsers take this name over TLS only, from this host only
HASH = "sha512"


class Visits:
    """Makes and reads cookies; ``seconds`` is how long one is valid, ``is_secure`` whether it is for TLS only."""

    def __init__(self, seconds: int, *, is_secure: bool) -> None:
        self._seconds = seconds
        self._key = secrets.token_bytes(64)
        self._cookies = CookieProfile(
            SECURE_COOKIE if is_secure else COOKIE,
            secure=is_secure,
            httponly=True,
            samesite=b"strict",
            serializer=SignedSerializer(self._key, "gantt-dashboard visit", HASH),
        )

    def begin(self, response: Response, request: Request, person: Person) -> None:
        """Give a person a cookie."""
        visit = [secrets.token_hex(16), person.name, person.may_act, int(time.time()) + self._seconds]
        response.headers.extend(self._cookies.bind(request).get_headers(visit))

    def end(self, response: Response, request: Request) -> None:
        """Take the cookie away."""
        response.headers.extend(self._cookies.bind(request).get_headers(None, max_age=0))

    def find(self, request: Request) -> "Visit | None":
        """Return the visit of a request, None without a valid cookie."""
        visit = self._cookies.bind(request).get_value()
        if visit is None or visit[3] < time.time():
            return None
        number, name, may_act, _ = visit
        form_token = hmac.digest(self._key, f"form {number}".encode(), HASH).hex()[:64]
        return Visit(Person(name, may_act), form_token)


class Visit:
    """A visit; ``form_token`` is what each form that changes something has to send back."""

    def __init__(self, person: Person, form_token: str) -> None:
        self.person = person
        self.form_token = form_token

    def sent_form(self, request: Request) -> bool:
        """Return whether a form was sent by a page of this visit."""
        return hmac.compare_digest(request.POST.get("form_token", "").encode(), self.form_token.encode())
