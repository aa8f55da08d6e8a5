# SPDX-License-Identifier: Apache-2.0
"""Users of the embedded bus. They have the rights of RabbitMQ's users, but all agents share one user."""

import re
from collections.abc import Iterable

from rpcapi import errors
from rpcapi.access.rabbit_users import SERVICE_USERS, SERVICES
from rpcapi.access.senders import SenderRole

ADMIN = SenderRole.ADMIN.value
USERS = {user.name: user for user in SERVICE_USERS}
NAMES = (*USERS, ADMIN)
# Users who may read everybody's dead letters.
READERS_OF_DEAD_LETTERS = ("operator", ADMIN)


def user_of(login: str | None) -> str:
    """Return the bus user of a login, by default the administrator. Raises BadConfiguration for an unknown user."""
    if not login:
        return ADMIN
    if login not in NAMES:
        why = f"the embedded bus has no user {login!r}: its users are {', '.join(NAMES)}"
        raise errors.BadConfiguration(why=f"transport_url cannot be used: {why}")
    return login


def callers_of(topic: str) -> tuple[str, ...]:
    service = topic.partition(".")[0]
    if service not in SERVICES:
        return NAMES
    return _with_admin(user.name for user in SERVICE_USERS if service in user.calls)


def servers_of(services: Iterable[str]) -> tuple[str, ...]:
    services = frozenset(services)
    return _with_admin(user.name for user in SERVICE_USERS if services.intersection(user.serves))


def receivers_of_replies(name: str) -> tuple[str, ...]:
    answers = USERS[name].answers
    return _with_admin(user for user in USERS if answers and re.fullmatch(answers, user))


def _with_admin(names: Iterable[str]) -> tuple[str, ...]:
    return (*names, ADMIN)
