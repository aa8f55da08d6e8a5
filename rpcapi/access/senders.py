# SPDX-License-Identifier: Apache-2.0
"""Senders of messages: roles of the users that the broker has authenticated."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from rpcapi import errors
from rpcapi.resources import host_patterns, names

AGENT_PREFIX = "gantt-compute."  # then the service host
# Services without a shared queue, whose calls name a server.
DIRECTED_SERVICES = frozenset({"compute"})
# Services without fanouts.
SERVICES_WITHOUT_FANOUT = frozenset({"scheduler", "claims", "conductor"})
SHARED_AGENT = "compute"  # user that serves a list of hosts
# In a client's user name, separates the only project that the client acts for.
PROJECT_SEPARATOR = "@"
_CLIENT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_PROJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")


class SenderRole(enum.StrEnum):
    """Kind of sender; the broker's administrator may act as any."""

    AGENT = "agent"
    CONDUCTOR = "conductor"
    SCHEDULER = "scheduler"
    OPERATOR = "operator"
    READER = "reader"
    CLIENT = "client"
    ADMIN = "admin"


class Sender(NamedTuple):
    """A user of the broker; ``role`` None is a foreign user.

    ``hosts`` are an agent's service hosts; ``project`` is the only project of a client, None if it may name any.
    """

    user: str
    role: SenderRole | None
    hosts: frozenset[str] = frozenset()
    project: str | None = None

    def is_agent_of(self, name: names.ResourceName) -> bool:
        """Return whether the sender speaks for the service host of a resource name; names are compared whole."""
        try:
            return self.role is SenderRole.AGENT and names.host_of(names.canonical(name)) in self.hosts
        except errors.InvalidName:
            return False


def agent_user(host: str) -> str:
    return AGENT_PREFIX + host


def client_user(name: str, project: str | None = None) -> str:
    """Return the broker's user of a client, for one project only if given; raises InvalidRequest."""
    if not _CLIENT_NAME.fullmatch(name):
        raise errors.InvalidRequest(
            why=f"the name of a client must have 1 to 64 letters, digits, '_', '.' or '-', got {name[:80]!r}"
        )
    if project is None:
        return f"{SenderRole.CLIENT}.{name}"
    if not _PROJECT.fullmatch(project):
        raise errors.InvalidRequest(
            why="the project of a client must have 1 to 128 letters, digits, '_', '.', ':' or '-', "
            f"got {project[:140]!r}"
        )
    return f"{SenderRole.CLIENT}.{name}{PROJECT_SEPARATOR}{project}"


class SenderDirectory:
    """Maps users of the broker to senders.

    ``gantt-compute.HOST`` is the agent of HOST, ``compute`` the agent of ``shared_hosts``; other roles are the user's
    name up to its first dot, as in ``operator.alice``. ``client.NAME@PROJECT`` acts for this project only.
    """

    def __init__(self, shared_hosts: Iterable[str] = ()) -> None:
        self._shared_hosts = frozenset(shared_hosts)

    @classmethod
    def of_patterns(cls, patterns: Iterable[str]) -> SenderDirectory:
        return cls(host for pattern in patterns for host in host_patterns.expand(pattern))

    def sender(self, user: str | None) -> Sender | None:
        """Return the sender of a message; None if the broker authenticated none."""
        if not user:
            return None
        if user == SHARED_AGENT:
            return Sender(user, SenderRole.AGENT, self._shared_hosts)
        if user.startswith(AGENT_PREFIX):
            return Sender(user, SenderRole.AGENT, frozenset({user.removeprefix(AGENT_PREFIX)}))
        role_name, _, name = user.partition(".")
        role = _ROLES.get(role_name)
        if role is SenderRole.CLIENT and PROJECT_SEPARATOR in name:
            project = name.partition(PROJECT_SEPARATOR)[2]
            return Sender(user, role, project=project) if project else Sender(user, None)
        return Sender(user, role)

    def responder_check(self, topic: str, server: str | None) -> Callable[[str | None], bool]:
        """Return a predicate of the users that may answer a call to the topic, or to that server of it."""
        service = topic.partition(".")[0]
        if service not in _SERVERS:
            return lambda user: True
        role = _SERVERS[service]

        def is_responder(user: str | None) -> bool:
            sender = self.sender(user)
            if sender is None:
                return False
            if sender.role is SenderRole.ADMIN:
                return True
            return sender.role is role and (role is not SenderRole.AGENT or server is None or server in sender.hosts)

        return is_responder


_ROLES = {role.value: role for role in SenderRole if role is not SenderRole.AGENT}
# Role of each topic's servers.
_SERVERS = {
    "scheduler": SenderRole.SCHEDULER,
    "claims": SenderRole.SCHEDULER,
    "conductor": SenderRole.CONDUCTOR,
    "compute": SenderRole.AGENT,
}
