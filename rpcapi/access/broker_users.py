# SPDX-License-Identifier: Apache-2.0
"""Users of the message bus and their permissions.

On RabbitMQ:

- A call to ``topic`` or ``topic.server`` goes through the exchange ``gantt-<service>``, so write permission on an
  exchange is permission to call the service. Queues are named like their routing keys.
- A fanout goes through the exchange ``<topic>_fanout`` to queues ``<topic>_fanout.<user>.<random>``.
- Replies go through ``gantt-replies`` to queues ``reply.<user>.<random>``.

The users of the embedded bus have the same rights, but all agents share one user.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rpcapi import errors
from rpcapi.access.senders import SERVICES_WITHOUT_FANOUT, SenderRole, agent_user, client_user

VHOST = "gantt"
RANDOM = "[0-9a-f]{32}"
# Replaces the default exchange, which no user may write to: it reaches every queue by name.
REPLY_EXCHANGE = "gantt-replies"
# The names differ because write permission on an exchange includes binding a queue of the same name.
DEAD_LETTER_EXCHANGE = "gantt-dead-letters"
DEAD_LETTER_QUEUE = "dead_letters"
SERVICES = ("scheduler", "claims", "conductor", "compute")
FANOUTS = tuple(f"{service}_fanout" for service in SERVICES if service not in SERVICES_WITHOUT_FANOUT)
ANYBODY = ".+"
NOTHING = "^$"


@dataclass(frozen=True)
class RabbitUser:
    """Broker user: services that it serves, calls and sends fanouts to, and a pattern of the users it answers."""

    name: str
    serves: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    fans_out: tuple[str, ...] = ()
    answers: str = ""
    host: str | None = None
    reads_dead_letters: bool = False

    @property
    def configure(self) -> str:
        return _any_of(self._own_queues())

    @property
    def write(self) -> str:
        """Pattern of the exchanges that the user may publish to, and the queues that it may bind."""
        replies = [REPLY_EXCHANGE] if self.answers else []
        letters = [DEAD_LETTER_EXCHANGE] if self.serves else []
        return _any_of([*replies, *letters, *exchanges_of(self.calls), *_fanouts(self.fans_out), *self._own_queues()])

    @property
    def read(self) -> str:
        """Pattern of the queues that the user may consume, and the exchanges that it may bind queues to."""
        exchanges = [*exchanges_of(self.serves), *_fanouts(self.serves)]
        letters = [DEAD_LETTER_QUEUE] if self.reads_dead_letters else []
        return _any_of([REPLY_EXCHANGE, *exchanges, *letters, *self._own_queues()])

    def topic_permissions(self) -> list[dict[str, str]]:
        """Return the routing keys allowed on the reply exchange and, for agents, on the agents' exchange."""
        replies = rf"^reply\.{self.answers}\.{RANDOM}$" if self.answers else NOTHING
        permissions = [self._topic_permission(REPLY_EXCHANGE, replies, f"^{self._reply_queue()}$")]
        if "compute" in self.serves:
            permissions.append(self._topic_permission("gantt-compute", NOTHING, f"^{self._topics('compute')}$"))
        return permissions

    def _topic_permission(self, exchange: str, write: str, read: str) -> dict[str, str]:
        return {"user": self.name, "vhost": VHOST, "exchange": exchange, "write": write, "read": read}

    def _reply_queue(self) -> str:
        return rf"reply\.{re.escape(self.name)}\.{RANDOM}"

    def _topics(self, service: str) -> str:
        if service == "compute":
            return r"compute\." + (".+" if self.host is None else re.escape(self.host))
        return rf"{service}(\..+)?"

    def _own_queues(self) -> list[str]:
        fanouts = [rf"{fanout}\.{re.escape(self.name)}\.{RANDOM}" for fanout in _fanouts(self.serves)]
        return [self._reply_queue(), *map(self._topics, self.serves), *fanouts]


def _any_of(patterns: Iterable[str]) -> str:
    return f"^({'|'.join(patterns)})$"


def exchanges_of(services: Iterable[str]) -> list[str]:
    return [f"gantt-{service}" for service in services]


def _fanouts(services: Iterable[str]) -> list[str]:
    return [name for service in services if (name := f"{service}_fanout") in FANOUTS]


# Exchange types of the broker's definitions, by name; all are durable.
DEPLOYED_EXCHANGES = {
    **dict.fromkeys((REPLY_EXCHANGE, *exchanges_of(SERVICES)), "topic"),
    **dict.fromkeys((*FANOUTS, DEAD_LETTER_EXCHANGE), "fanout"),
}
AGENT_CALLS = ("scheduler", "claims", "conductor")
CLIENT_CALLS = ("scheduler", "conductor")
CONDUCTORS = r"conductor(\..+)?"
SERVICE_USERS = (
    RabbitUser("scheduler", serves=("scheduler", "claims"), calls=("conductor",), answers=ANYBODY),
    RabbitUser(
        "conductor",
        serves=("conductor",),
        calls=("scheduler", "claims", "compute"),
        fans_out=("compute",),
        answers=ANYBODY,
    ),
    # Shared user of several agents, for example of all simulated hosts.
    RabbitUser("compute", serves=("compute",), calls=AGENT_CALLS, answers=CONDUCTORS),
    RabbitUser("operator", calls=("scheduler", "claims", "conductor"), reads_dead_letters=True),
    # Read-only operator: the services refuse its calls of writing methods.
    RabbitUser("reader", calls=("scheduler", "claims", "conductor")),
    # Trusted front end, like nova-api.
    RabbitUser("client", calls=CLIENT_CALLS),
)


ADMIN = SenderRole.ADMIN.value
_SERVICE_USERS_BY_NAME = {user.name: user for user in SERVICE_USERS}
# Users of the embedded bus.
BUS_USERS = (*_SERVICE_USERS_BY_NAME, ADMIN)
# Users who may read everybody's dead letters.
READERS_OF_DEAD_LETTERS = ("operator", ADMIN)


def agent(host: str) -> RabbitUser:
    return RabbitUser(agent_user(host), serves=("compute",), calls=AGENT_CALLS, answers=CONDUCTORS, host=host)


def client(name: str, project: str | None = None) -> RabbitUser:
    return RabbitUser(client_user(name, project), calls=CLIENT_CALLS)


def user_of(login: str | None) -> str:
    """Return the bus user of a login, by default the administrator. Raises BadConfiguration for an unknown user."""
    if not login:
        return ADMIN
    if login not in BUS_USERS:
        why = f"the embedded bus has no user {login!r}: its users are {', '.join(BUS_USERS)}"
        raise errors.BadConfiguration(why=f"transport_url cannot be used: {why}")
    return login


def callers_of(topic: str) -> tuple[str, ...]:
    service = topic.partition(".")[0]
    if service not in SERVICES:
        return BUS_USERS
    return _with_admin(user.name for user in SERVICE_USERS if service in user.calls)


def servers_of(services: Iterable[str]) -> tuple[str, ...]:
    services = frozenset(services)
    return _with_admin(user.name for user in SERVICE_USERS if services.intersection(user.serves))


def receivers_of_replies(name: str) -> tuple[str, ...]:
    answers = _SERVICE_USERS_BY_NAME[name].answers
    return _with_admin(user for user in _SERVICE_USERS_BY_NAME if answers and re.fullmatch(answers, user))


def _with_admin(names: Iterable[str]) -> tuple[str, ...]:
    return (*names, ADMIN)
