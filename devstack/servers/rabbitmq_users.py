# SPDX-License-Identifier: Apache-2.0
"""RabbitMQ users: each service may serve its own topics and call those it must; the broker sees to it.

An RPC goes to the topic exchange `gantt` with the topic (or `topic.server`) as routing key, so who may call
whom is a topic permission. Queues are named like their routing keys; a fanout has an exchange of its own,
`<topic>_fanout`, and a reply goes to a queue `reply_<unguessable>` through the exchange `gantt-replies` (see
rpcapi/drivers/confined_rabbit.py for why not through the default exchange).
"""

import base64
import hashlib
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from devstack.servers.folder import Passwords

VHOST = "gantt"
CONTROL_EXCHANGE = "gantt"
REPLY_QUEUES = r"reply_.+"
# Nobody may write to the default exchange: it reaches every queue by name, an agent's too.
REPLY_EXCHANGE = "gantt-replies"

SCHEDULER_TOPIC = "scheduler"
CLAIMS_TOPIC = r"claims\.[^.]+"
CONDUCTOR_TOPIC = "conductor"
COMPUTE_TOPIC = "compute"
NOTHING = "^$"


def _any_of(patterns: Iterable[str]) -> str:
    """One anchored regular expression that takes each of the patterns, and nothing when there are none."""
    alternatives = "|".join(patterns)
    return f"^({alternatives})$" if alternatives else NOTHING


def _with_servers(topics: Iterable[str]) -> list[str]:
    """The topics, and the same topics directed at one server."""
    return [rf"{topic}(\..+)?" for topic in topics]


@dataclass(frozen=True)
class RabbitUser:
    """Who a service is to the broker: the topics (regular expressions) it serves, calls and fans out to."""

    name: str
    serves: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    fans_out: tuple[str, ...] = ()

    @property
    def configure(self) -> str:
        """What the user may declare: the control exchange, its own queues, the fanout exchanges it uses."""
        return _any_of([CONTROL_EXCHANGE, REPLY_EXCHANGE, REPLY_QUEUES, *self._queues(), *self._fanouts()])

    @property
    def write(self) -> str:
        """What the user may publish to, and which queues it may bind."""
        published = [CONTROL_EXCHANGE, REPLY_EXCHANGE, *(f"{topic}_fanout" for topic in self.fans_out)]
        return _any_of([*published, REPLY_QUEUES, *self._queues()])

    @property
    def read(self) -> str:
        """What the user may consume, and which exchanges it may bind a queue to."""
        bound = [CONTROL_EXCHANGE, REPLY_EXCHANGE, *(f"{topic}_fanout" for topic in self.serves)]
        return _any_of([*bound, REPLY_QUEUES, *self._queues()])

    @property
    def topic_write(self) -> str:
        """The routing keys that the user may publish with."""
        return _any_of(_with_servers(self.calls))

    @property
    def topic_read(self) -> str:
        """The routing keys that the user may bind its queues with."""
        return _any_of(_with_servers(self.serves))

    def _queues(self) -> list[str]:
        return [*_with_servers(self.serves), *(f"{topic}_fanout_.+" for topic in self.serves)]

    def _fanouts(self) -> list[str]:
        return [f"{topic}_fanout" for topic in (*self.serves, *self.fans_out)]


SERVICE_USERS = (
    # The scheduler decides and never commands a host; it asks the conductor for objects of an older version.
    RabbitUser("scheduler", serves=(SCHEDULER_TOPIC, CLAIMS_TOPIC), calls=(CONDUCTOR_TOPIC,)),
    RabbitUser(
        "conductor",
        serves=(CONDUCTOR_TOPIC,),
        calls=(SCHEDULER_TOPIC, CLAIMS_TOPIC, COMPUTE_TOPIC),
        fans_out=(COMPUTE_TOPIC,),
    ),
    # An agent reports and confirms; it commands neither itself nor another agent.
    RabbitUser("compute", serves=(COMPUTE_TOPIC,), calls=(SCHEDULER_TOPIC, CLAIMS_TOPIC, CONDUCTOR_TOPIC)),
    RabbitUser("client", calls=(SCHEDULER_TOPIC, CLAIMS_TOPIC, CONDUCTOR_TOPIC)),
)
# The run folder's owner, and the tests of the message protocol. No service knows its password.
ADMIN = "admin"


def definitions(users: Iterable[RabbitUser], passwords: Passwords) -> str:
    """The broker's definitions file (JSON): one virtual host, the users, their permissions."""
    users = tuple(users)
    permissions = [_permission(ADMIN, ".*", ".*", ".*")]
    permissions += [_permission(user.name, user.configure, user.write, user.read) for user in users]
    topic_permissions = []
    for user in users:
        topic_permissions += [
            _topic_permission(user.name, CONTROL_EXCHANGE, user.topic_write, user.topic_read),
            _topic_permission(user.name, REPLY_EXCHANGE, f"^{REPLY_QUEUES}$", f"^{REPLY_QUEUES}$"),
        ]
    document = {
        "vhosts": [{"name": VHOST}],
        "users": [_account(name, passwords.of(name)) for name in (ADMIN, *(user.name for user in users))],
        "permissions": permissions,
        "topic_permissions": topic_permissions,
    }
    return json.dumps(document, indent=1)


def _permission(user: str, configure: str, write: str, read: str) -> dict[str, str]:
    return {"user": user, "vhost": VHOST, "configure": configure, "write": write, "read": read}


def _topic_permission(user: str, exchange: str, write: str, read: str) -> dict[str, str]:
    return {"user": user, "vhost": VHOST, "exchange": exchange, "write": write, "read": read}


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
