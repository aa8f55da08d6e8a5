# SPDX-License-Identifier: Apache-2.0
"""RabbitMQ users: the broker allows each service to serve only its own topics and to call only those it needs.

An RPC goes to the exchange `gantt-<service>` with the topic (or `topic.server`) as routing key, so write permission
on an exchange is the permission to call that service. Queues are named like their routing keys; a fanout has an
exchange of its own, `<topic>_fanout`, and a reply goes to a queue `reply_<unguessable>` through the exchange
`gantt-replies` (rpcapi/messaging/drivers/confined_rabbit.py explains why not through the default exchange).
"""

import base64
import hashlib
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from devstack.servers.folder import Passwords
from rpcapi.access.senders import agent_user

VHOST = "gantt"
REPLY_QUEUES = r"reply_.+"
# No user may write to the default exchange: it reaches every queue by name, including agents' queues.
REPLY_EXCHANGE = "gantt-replies"
REPLY_KEYS = f"^{REPLY_QUEUES}$"


@dataclass(frozen=True)
class RabbitUser:
    """A broker user: the services it serves, those it calls, and those it sends fanouts to."""

    name: str
    serves: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    fans_out: tuple[str, ...] = ()

    @property
    def configure(self) -> str:
        """Pattern of what the user may declare: its own queues, and the exchanges it serves on or publishes to."""
        exchanges = [*_exchanges((*self.serves, *self.calls)), *_fanouts((*self.serves, *self.fans_out))]
        return _any_of([REPLY_EXCHANGE, REPLY_QUEUES, *exchanges, *_queues(self.serves)])

    @property
    def write(self) -> str:
        """Pattern of the exchanges that the user may publish to and the queues that it may bind."""
        exchanges = [*_exchanges(self.calls), *_fanouts(self.fans_out)]
        return _any_of([REPLY_EXCHANGE, REPLY_QUEUES, *exchanges, *_queues(self.serves)])

    @property
    def read(self) -> str:
        """Pattern of the queues that the user may consume and the exchanges that it may bind a queue to."""
        exchanges = [*_exchanges(self.serves), *_fanouts(self.serves)]
        return _any_of([REPLY_EXCHANGE, REPLY_QUEUES, *exchanges, *_queues(self.serves)])


def _any_of(patterns: Iterable[str]) -> str:
    """Return one anchored regular expression that matches any of the patterns."""
    return f"^({'|'.join(patterns)})$"


def _exchanges(services: Iterable[str]) -> list[str]:
    return [f"gantt-{service}" for service in services]


def _fanouts(services: Iterable[str]) -> list[str]:
    """Return patterns of the fanout exchanges; a service may have a topic per partition: `claims.cell1`."""
    return [rf"{service}(\..+)?_fanout" for service in services]


def _queues(services: Iterable[str]) -> list[str]:
    """Return patterns of the services' queues: topics, servers' own queues, and fanout queues."""
    return [rf"{service}(\..+)?(_fanout_.+)?" for service in services]


SERVICE_USERS = (
    # The scheduler never calls agents; it asks the conductor to backport objects to an older version.
    RabbitUser("scheduler", serves=("scheduler", "claims"), calls=("conductor",)),
    RabbitUser("conductor", serves=("conductor",), calls=("scheduler", "claims", "compute"), fans_out=("compute",)),
    # An agent reports and confirms; it calls no agent.
    RabbitUser("compute", serves=("compute",), calls=("scheduler", "claims", "conductor")),
    # Commands, and programs that write aggregates and host state.
    RabbitUser("operator", calls=("scheduler", "claims", "conductor")),
    # A trusted front end, as nova-api is: it builds, lists, deletes, explains.
    RabbitUser("client", calls=("scheduler", "conductor")),
)


def agent(host: str) -> RabbitUser:
    """Return the user of the agent of one service host."""
    return RabbitUser(agent_user(host), serves=("compute",), calls=("scheduler", "claims", "conductor"))


# For the run folder's owner and the tests of the message protocol. No service has its password.
ADMIN = "admin"


def definitions(users: Iterable[RabbitUser], passwords: Passwords) -> str:
    """Return the broker's definitions file (JSON): one virtual host, the users, their permissions."""
    users = tuple(users)
    permissions = [_permission(ADMIN, ".*", ".*", ".*")]
    permissions += [_permission(user.name, user.configure, user.write, user.read) for user in users]
    # Without these a user could bind the replies exchange to a queue of its own, and read or forward others' replies.
    replies = [
        {"user": user.name, "vhost": VHOST, "exchange": REPLY_EXCHANGE, "write": REPLY_KEYS, "read": REPLY_KEYS}
        for user in users
    ]
    document = {
        "vhosts": [{"name": VHOST}],
        "users": [_account(name, passwords.of(name)) for name in (ADMIN, *(user.name for user in users))],
        "permissions": permissions,
        "topic_permissions": replies,
    }
    return json.dumps(document, indent=1)


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
