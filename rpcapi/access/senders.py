# SPDX-License-Identifier: Apache-2.0
"""Roles of the broker's users as senders of messages."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from rpcapi import errors
from rpcapi.resources import names

AGENT_PREFIX = "gantt-compute."  # followed by the service host
# Services without a shared queue: each call names a server.
DIRECTED_SERVICES = frozenset({"compute"})
SERVICES_WITHOUT_FANOUT = frozenset({"scheduler", "claims", "conductor"})
SHARED_AGENT = "compute"  # agent user of several hosts
PROJECT_SEPARATOR = "@"  # before the project in the user name of a client of one project
_CLIENT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_PROJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")


class SenderRole(enum.StrEnum):
    """Kind of sender. ADMIN may call every method."""

    AGENT = "agent"
    CONDUCTOR = "conductor"
    SCHEDULER = "scheduler"
    OPERATOR = "operator"
    READER = "reader"
    CLIENT = "client"
    ADMIN = "admin"


class Sender(NamedTuple):
    """Broker user with its role (None: unknown), an agent's service hosts, and a client's only project (None: all)."""

    user: str
    role: SenderRole | None
    hosts: frozenset[str] = frozenset()
    project: str | None = None

    def is_agent_of(self, name: names.ResourceName) -> bool:
        try:
            return self.role is SenderRole.AGENT and names.host_of(names.canonical(name)) in self.hosts
        except errors.InvalidName:
            return False


def agent_user(host: str) -> str:
    return AGENT_PREFIX + host


def client_user(name: str, project: str | None = None) -> str:
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
    """Mapping of broker users to senders. ``shared_hosts`` are the hosts of the agent user ``compute``."""

    def __init__(self, shared_hosts: Iterable[str] = ()) -> None:
        self._shared_hosts = frozenset(shared_hosts)

    @classmethod
    def of_patterns(cls, patterns: Iterable[str]) -> SenderDirectory:
        return cls(host for pattern in patterns for host in names.expand_pattern(pattern))

    def sender(self, user: str | None) -> Sender | None:
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
        """Return a predicate of the users who may answer calls to the topic, or to one server of it."""
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
_SERVERS = {
    "scheduler": SenderRole.SCHEDULER,
    "claims": SenderRole.SCHEDULER,
    "conductor": SenderRole.CONDUCTOR,
    "compute": SenderRole.AGENT,
}
