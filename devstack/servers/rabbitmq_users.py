# SPDX-License-Identifier: Apache-2.0
"""RabbitMQ users: the broker allows each service to serve only its own topics and to call only those it needs.

An RPC goes to the exchange `gantt-<service>` with the topic (or `topic.server`) as routing key, so write permission
on an exchange is the permission to call that service. Queues are named like their routing keys; a fanout has an
exchange of its own, `<topic>_fanout`, and queues `<topic>_fanout.<user>.<random>`; a reply goes to a queue
`reply.<user>.<random>` through the exchange `gantt-replies` (rpcapi/messaging/drivers/confined_rabbit.py explains why
not through the default exchange). The definitions create the exchanges: permission to declare one includes deletion.
"""

import base64
import hashlib
import json
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from devstack.servers.folder import Passwords
from rpcapi.access.senders import agent_user

VHOST = "gantt"
RANDOM = "[0-9a-f]{32}"
# No user may write to the default exchange: it reaches every queue by name, including agents' queues.
REPLY_EXCHANGE = "gantt-replies"
SERVICES = ("scheduler", "claims", "conductor", "compute")
# The fanout of a partition, `claims.cell1_fanout`, is not among them: schedulers alone use it, and may declare it.
FANOUTS = ("scheduler_fanout", "conductor_fanout", "compute_fanout")
ANYBODY = ".+"
NOTHING = "^$"


@dataclass(frozen=True)
class RabbitUser:
    """A broker user: the services it serves, those it calls, and those it sends fanouts to.

    ``answers`` is a pattern of the users to whom it replies; ``host`` is the only service host of an agent.
    """

    name: str
    serves: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    fans_out: tuple[str, ...] = ()
    answers: str = ""
    host: str | None = None

    @property
    def configure(self) -> str:
        """Pattern of what the user may declare and delete: its own queues."""
        return _any_of(self._own_queues())

    @property
    def write(self) -> str:
        """Pattern of the exchanges that the user may publish to and the queues that it may bind."""
        replies = [REPLY_EXCHANGE] if self.answers else []
        return _any_of([*replies, *_exchanges(self.calls), *_fanouts(self.fans_out), *self._own_queues()])

    @property
    def read(self) -> str:
        """Pattern of the queues that the user may consume and the exchanges that it may bind a queue to."""
        exchanges = [*_exchanges(self.serves), *_fanouts(self.serves)]
        return _any_of([REPLY_EXCHANGE, *exchanges, *self._own_queues()])

    def topic_permissions(self) -> list[dict[str, str]]:
        """Return the routing keys that the user may publish with and bind to, of replies and of agents' topic."""
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
    """Return one anchored regular expression that matches any of the patterns."""
    return f"^({'|'.join(patterns)})$"


def _exchanges(services: Iterable[str]) -> list[str]:
    return [f"gantt-{service}" for service in services]


def _fanouts(services: Iterable[str]) -> list[str]:
    """Return patterns of the fanout exchanges; the claims service has a topic per partition: `claims.cell1`."""
    return [r"claims\..+_fanout" if service == "claims" else f"{service}_fanout" for service in services]


AGENT_CALLS = ("scheduler", "claims", "conductor")
CONDUCTORS = r"conductor(\..+)?"
SERVICE_USERS = (
    # The scheduler never calls agents; it asks the conductor to backport objects to an older version.
    RabbitUser("scheduler", serves=("scheduler", "claims"), calls=("conductor",), answers=ANYBODY),
    RabbitUser(
        "conductor",
        serves=("conductor",),
        calls=("scheduler", "claims", "compute"),
        fans_out=("compute",),
        answers=ANYBODY,
    ),
    # An agent reports and confirms; it calls no agent. This one stands for all simulated hosts.
    RabbitUser("compute", serves=("compute",), calls=AGENT_CALLS, answers=CONDUCTORS),
    # Commands, and programs that write aggregates and host state.
    RabbitUser("operator", calls=("scheduler", "claims", "conductor")),
    # A trusted front end, as nova-api is: it builds, lists, deletes, explains.
    RabbitUser("client", calls=("scheduler", "conductor")),
)


def agent(host: str) -> RabbitUser:
    """Return the user of the agent of one service host."""
    return RabbitUser(agent_user(host), serves=("compute",), calls=AGENT_CALLS, answers=CONDUCTORS, host=host)


# For the run folder's owner and the tests of the message protocol. No service has its password.
ADMIN = "admin"


def definitions(users: Iterable[RabbitUser], passwords: Passwords) -> str:
    """Return the broker's definitions file (JSON): one virtual host, the users, their permissions."""
    users = tuple(users)
    permissions = [_permission(ADMIN, ".*", ".*", ".*")]
    permissions += [_permission(user.name, user.configure, user.write, user.read) for user in users]
    document = {
        "vhosts": [{"name": VHOST}],
        "users": [_account(name, passwords.of(name)) for name in (ADMIN, *(user.name for user in users))],
        "permissions": permissions,
        # Without these a user could bind its own queue to the keys of others, and read or forward their messages.
        "topic_permissions": [permission for user in users for permission in user.topic_permissions()],
        "exchanges": [
            *(_exchange(name, "topic") for name in (REPLY_EXCHANGE, *_exchanges(SERVICES))),
            *(_exchange(name, "fanout") for name in FANOUTS),
        ],
    }
    return json.dumps(document, indent=1)


def _exchange(name: str, kind: str) -> dict[str, Any]:
    return {
        "name": name,
        "vhost": VHOST,
        "type": kind,
        "durable": True,
        "auto_delete": False,
        "internal": False,
        "arguments": {},
    }


def _permission(user: str, configure: str, write: str, read: str) -> dict[str, str]:
    return {"user": user, "vhost": VHOST, "configure": configure, "write": write, "read": read}


def _account(name: str, password: str) -> dict[str, Any]:
    # The broker's own salted form: base64 of the salt and the digest of salt and password.
    salt = secrets.token_bytes(4)
    digest = hashlib.sha256(salt + password.encode()).digest()
    return {
        "name": name,
        "password_hash": base64.b64encode(salt + digest).decode(),
        "hashing_algorithm": "rabbit_password_hashing_sha256",
        "tags": ["administrator"] if name == ADMIN else [],
    }
