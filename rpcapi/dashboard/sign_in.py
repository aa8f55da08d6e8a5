# SPDX-License-Identifier: Apache-2.0
"""Sign-in to the dashboard, by a shared token or with Keystone, and the login sessions of signed-in persons.

A new key at each start signs person and expiry in the cookie; the server stores only ended sessions.
"""

import hmac
import secrets
import threading
import time
from collections.abc import Mapping
from typing import NamedTuple

from keystoneauth1 import exceptions as failures
from keystoneauth1 import session as keystone_session
from keystoneauth1.identity import v3
from oslo_config import cfg
from oslo_log import log
from webob import Request, Response
from webob.cookies import CookieProfile, SignedSerializer

from rpcapi import errors
from rpcapi.conf import dashboard

LOG = log.getLogger(__name__)

KEYSTONE_SECONDS = 10.0
MAX_FIELD = 1024  # characters
MAX_PARALLEL = 2  # sign-ins at a time; more are refused, so that they occupy no threads
OPERATOR = "operator"
COOKIE = "gantt_dashboard"
SECURE_COOKIE = f"__Host-{COOKIE}"  # browsers accept this name only over TLS and only from this host
HASH = "sha512"


class Person(NamedTuple):
    """Signed-in person; ``may_act`` allows changes of hosts and server groups."""

    name: str
    user_id: str
    may_act: bool


class SignInRefused(Exception):
    """Raised with a message for the user who cannot sign in."""


class TokenSignIn:
    fields = (("token", "Token", "password"),)

    def __init__(self, token: str, *, may_act: bool) -> None:
        self._token = token.encode()
        self._may_act = may_act

    def check(self, form: Mapping[str, str]) -> Person:
        if not hmac.compare_digest(form.get("token", "").encode(), self._token):
            raise SignInRefused("Invalid token.")
        return Person(OPERATOR, OPERATOR, self._may_act)


class KeystoneSignIn:
    """Sign-in of Keystone users with a role in the operators' project; passwords are not kept."""

    fields = (("username", "User", "text"), ("password", "Password", "password"), ("domain", "Domain", "text"))

    def __init__(self, options: cfg.ConfigOpts.GroupAttr) -> None:
        self._options = options
        self._session = keystone_session.Session(verify=options.auth_ca_file or True, timeout=KEYSTONE_SECONDS)
        self._roles = frozenset(options.roles)
        self._action_roles = frozenset(options.action_roles if options.actions else ())
        self._waiting = threading.BoundedSemaphore(MAX_PARALLEL)

    def check(self, form: Mapping[str, str]) -> Person:
        if not self._waiting.acquire(blocking=False):
            raise errors.Unavailable(what="Keystone", why="too many sign-ins are in progress; try again")
        try:
            return self._check(form)
        finally:
            self._waiting.release()

    def _check(self, form: Mapping[str, str]) -> Person:
        username, domain = form.get("username", ""), form.get("domain") or "Default"
        password = v3.Password(
            self._options.auth_url,
            username=username,
            password=form.get("password", ""),
            user_domain_name=domain,
            project_name=self._options.project_name,
            project_domain_name=self._options.project_domain_name,
            reauthenticate=False,
        )
        try:
            access = password.get_access(self._session)
        except (failures.Unauthorized, failures.BadRequest, failures.Forbidden, failures.NotFound):
            raise SignInRefused(
                "Keystone rejected this user and password, or the user has no role in the project."
            ) from None
        except failures.ClientException as error:
            LOG.warning("Keystone cannot be used: %s", error)
            raise errors.Unavailable(what="Keystone", why="the log of gantt-dashboard says why") from error
        roles = set(access.role_names or ())
        if not roles & (self._roles | self._action_roles):
            raise SignInRefused(f"{username} has none of the roles {', '.join(sorted(self._roles))}.")
        return Person(f"{username}@{domain}", access.user_id or username, bool(roles & self._action_roles))


# ``fields``: (name, label, type) of the form. ``check`` raises SignInRefused, or Unavailable without Keystone.
SignIn = TokenSignIn | KeystoneSignIn


def make_sign_in(conf: cfg.ConfigOpts) -> SignIn:
    options = conf.dashboard
    if options.auth_strategy == dashboard.TOKEN:
        return TokenSignIn(options.token, may_act=options.actions)
    return KeystoneSignIn(options)


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
