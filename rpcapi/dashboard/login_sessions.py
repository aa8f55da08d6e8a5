# SPDX-License-Identifier: Apache-2.0
"""Session cookies of signed-in persons, and CSRF tokens.

A new key at each start signs person and expiry in the cookie; the server stores only ended sessions.
"""

import hmac
import secrets
import time
from typing import NamedTuple

from webob import Request, Response
from webob.cookies import CookieProfile, SignedSerializer

from rpcapi.dashboard.sign_in import Person

COOKIE = "gantt_dashboard"
SECURE_COOKIE = f"__Host-{COOKIE}"  # browsers accept this name only over TLS and only from this host
HASH = "sha512"


class LoginSession(NamedTuple):
    session_id: str
    person: Person
    csrf_token: str

    def has_csrf_token(self, request: Request) -> bool:
        return hmac.compare_digest(request.POST.get("csrf_token", "").encode(), self.csrf_token.encode())


class LoginSessions:
    """Login sessions in cookies that are valid for ``seconds``; with ``is_secure`` over TLS only."""

    def __init__(self, seconds: int, *, is_secure: bool) -> None:
        self._seconds = seconds
        self._key = secrets.token_bytes(64)
        self._ended: dict[str, float] = {}  # ended sessions, until their cookies expire
        self._cookies = CookieProfile(
            SECURE_COOKIE if is_secure else COOKIE,
            secure=is_secure,
            httponly=True,
            samesite=b"lax",  # links from messages work; changes are never GET requests
            serializer=SignedSerializer(self._key, "gantt-dashboard session", HASH),
        )

    def begin(self, response: Response, request: Request, person: Person) -> None:
        content = [secrets.token_hex(16), *person, int(time.time()) + self._seconds]
        response.headers.extend(self._cookies.bind(request).get_headers(content))

    def end(self, response: Response, request: Request, session: LoginSession) -> None:
        """Delete the cookie and reject copies of it."""
        now = time.time()
        for session_id in [key for key, until in self._ended.copy().items() if until < now]:
            self._ended.pop(session_id, None)
        self._ended[session.session_id] = now + self._seconds
        response.headers.extend(self._cookies.bind(request).get_headers(None, max_age=0))

    def find(self, request: Request) -> LoginSession | None:
        content = self._cookies.bind(request).get_value()
        if content is None or content[-1] < time.time() or content[0] in self._ended:
            return None
        session_id, *person, _ = content
        csrf_token = hmac.digest(self._key, f"csrf {session_id}".encode(), HASH).hex()[:64]
        return LoginSession(session_id, Person(*person), csrf_token)
