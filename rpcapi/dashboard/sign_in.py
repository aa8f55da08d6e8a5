# SPDX-License-Identifier: Apache-2.0
"""Who may open the dashboard: holders of one token, or users of Keystone."""

import hmac
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from keystoneauth1 import exceptions as failures
from keystoneauth1 import session as keystone_session
from keystoneauth1.identity import v3
from oslo_config import cfg

from rpcapi import errors
from rpcapi.conf import dashboard

KEYSTONE_SECONDS = 10.0
MAX_FIELD = 1024  # characters


class Person(NamedTuple):
    """A person who has signed in; ``may_act`` is whether hosts may be changed."""

    name: str
    may_act: bool


class SignInRefused(Exception):
    """Raised with a sentence for the page where a person cannot sign in."""


class SignIn(Protocol):
    """A way to sign in; ``fields`` are those of its form: name, label and type."""

    @property
    def fields(self) -> Sequence[tuple[str, str, str]]: ...

    def check(self, form: Mapping[str, str]) -> Person:
        """Return who it is; raises SignInRefused, and Unavailable where that cannot be found out now."""


class TokenSignIn:
    """All who know the token are one operator."""

    fields = (("token", "Token", "password"),)

    def __init__(self, token: str, *, may_act: bool) -> None:
        self._token = token.encode()
        self._may_act = may_act

    def check(self, form: Mapping[str, str]) -> Person:
        """Compare the token, in a time that does not depend on it."""
        if not hmac.compare_digest(form.get("token", "").encode(), self._token):
            raise SignInRefused("This is not the token.")
        return Person("operator", self._may_act)


class KeystoneSignIn:
    """Users of Keystone with a role in a project; passwords are sent to Keystone and not kept."""

    fields = (
        ("username", "User", "text"),
        ("password", "Password", "password"),
        ("project", "Project", "text"),
        ("domain", "Domain", "text"),
    )

    def __init__(self, auth_url: str, ca_file: str, roles: Sequence[str], action_roles: Sequence[str]) -> None:
        """``action_roles`` are those that may change hosts; empty: nobody may."""
        self._auth_url = auth_url
        self._session = keystone_session.Session(verify=ca_file or True, timeout=KEYSTONE_SECONDS)
        self._roles = frozenset(roles)
        self._action_roles = frozenset(action_roles)

    def check(self, form: Mapping[str, str]) -> Person:
        """Get a token of Keystone, whose roles decide."""
        username, domain = form.get("username", ""), form.get("domain") or "Default"
        password = v3.Password(
            self._auth_url,
            username=username,
            password=form.get("password", ""),
            project_name=form.get("project", ""),
            user_domain_name=domain,
            project_domain_name=domain,
            reauthenticate=False,
        )
        try:
            access = password.get_access(self._session)
        except (failures.Unauthorized, failures.BadRequest, failures.Forbidden, failures.NotFound):
            raise SignInRefused("Keystone does not accept this user, password and project.") from None
        except failures.ClientException as error:
            raise errors.Unavailable(what="Keystone", why=str(error)) from error
        roles = set(access.role_names or ())
        if not roles & (self._roles | self._action_roles):
            raise SignInRefused(f"{username} has none of the roles {', '.join(sorted(self._roles))}.")
        return Person(username, bool(roles & self._action_roles))


def make_sign_in(conf: cfg.ConfigOpts) -> SignIn:
    """Return the configured way to sign in."""
    options = conf.dashboard
    if options.auth_strategy == dashboard.TOKEN:
        return TokenSignIn(options.token, may_act=options.actions)
    action_roles = options.action_roles if options.actions else ()
    return KeystoneSignIn(options.auth_url, options.auth_ca_file, options.roles, action_roles)
