# SPDX-License-Identifier: Apache-2.0
"""The cookie of a person who has signed in, and what protects forms against requests that other sites make.

The cookie is signed and says who it is and until when; a list is kept only of sessions that were ended early. The key
is made at each start of the daemon, so that a restart ends all sessions.
"""

import hmac
import secrets
import time
from typing import NamedTuple

from webob import Request, Response
from webob.cookies import CookieProfile, SignedSerializer

from rpcapi.dashboard.sign_in import Person

COOKIE = "gantt_dashboard"
SECURE_COOKIE = f"__Host-{COOKIE}"  # browsers take this name over TLS only, from this host only
HASH = "sha512"


class LoginSession(NamedTuple):
    """One session; ``csrf_token`` is what each form that changes something has to send back."""

    session_id: str
    person: Person
    csrf_token: str

    def has_csrf_token(self, request: Request) -> bool:
        """Return whether a form was sent by a page of this session."""
        return hmac.compare_digest(request.POST.get("csrf_token", "").encode(), self.csrf_token.encode())


class LoginSessions:
    """Makes and reads cookies; ``seconds`` is how long one is valid, ``is_secure`` whether it is for TLS only."""

    def __init__(self, seconds: int, *, is_secure: bool) -> None:
        self._seconds = seconds
        self._key = secrets.token_bytes(64)
        self._ended: dict[str, float] = {}  # sessions that were ended before their time, with that time
        self._cookies = CookieProfile(
            SECURE_COOKIE if is_secure else COOKIE,
            secure=is_secure,
            httponly=True,
            samesite=b"lax",  # a link in a message leads to its page; what changes something is never a GET
            serializer=SignedSerializer(self._key, "gantt-dashboard session", HASH),
        )

    def begin(self, response: Response, request: Request, person: Person) -> None:
        """Give a person a cookie."""
        content = [secrets.token_hex(16), *person, int(time.time()) + self._seconds]
        response.headers.extend(self._cookies.bind(request).get_headers(content))

    def end(self, response: Response, request: Request, session: LoginSession) -> None:
        """Take the cookie away, and accept no copy of it any more."""
        now = time.time()
        for session_id in [key for key, until in self._ended.copy().items() if until < now]:
            self._ended.pop(session_id, None)
        self._ended[session.session_id] = now + self._seconds
        response.headers.extend(self._cookies.bind(request).get_headers(None, max_age=0))

    def find(self, request: Request) -> LoginSession | None:
        """Return the session of a request, None without a valid cookie."""
        content = self._cookies.bind(request).get_value()
        if content is None or content[-1] < time.time() or content[0] in self._ended:
            return None
        session_id, *person, _ = content
        csrf_token = hmac.digest(self._key, f"csrf {session_id}".encode(), HASH).hex()[:64]
        return LoginSession(session_id, Person(*person), csrf_token)
