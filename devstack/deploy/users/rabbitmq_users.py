# SPDX-License-Identifier: Apache-2.0
"""Definitions of a RabbitMQ node: users with their permissions, and exchanges."""

import base64
import hashlib
import json
import secrets
from collections.abc import Iterable, Sequence
from typing import Any

from devstack.deploy.users.folder import Passwords
from rpcapi.access.broker_users import DEAD_LETTER_EXCHANGE, DEAD_LETTER_QUEUE, DEPLOYED_EXCHANGES, VHOST, RabbitUser
from rpcapi.messaging.drivers import dead_letters

# User of the run folder's owner and of the protocol tests; no service has its password.
ADMIN = "admin"


def definitions(users: Iterable[RabbitUser], passwords: Passwords, vhosts: Sequence[str] = ()) -> str:
    """Return the definitions file (JSON); ``vhosts`` are empty, for other programs and the administrator only."""
    users = tuple(users)
    permissions = [_permission(ADMIN, ".*", ".*", ".*", vhost) for vhost in (VHOST, *vhosts)]
    permissions += [_permission(user.name, user.configure, user.write, user.read) for user in users]
    document = {
        "vhosts": [{"name": vhost} for vhost in (VHOST, *vhosts)],
        "users": [_account(name, passwords.of(name)) for name in (ADMIN, *(user.name for user in users))],
        "permissions": permissions,
        # Without these a user could bind a queue to others' routing keys, and read or forward their messages.
        "topic_permissions": [permission for user in users for permission in user.topic_permissions()],
        "exchanges": [_exchange(name, kind) for name, kind in DEPLOYED_EXCHANGES.items()],
        "queues": [_dead_letter_queue()],
        "bindings": [_binding(DEAD_LETTER_EXCHANGE, DEAD_LETTER_QUEUE)],
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


def _dead_letter_queue() -> dict[str, Any]:
    arguments = {
        "x-max-length": dead_letters.MAX_LETTERS,
        "x-overflow": "drop-head",
        "x-message-ttl": dead_letters.SECONDS * 1000,
    }
    return {"name": DEAD_LETTER_QUEUE, "vhost": VHOST, "durable": True, "auto_delete": False, "arguments": arguments}


def _binding(exchange: str, queue: str) -> dict[str, Any]:
    destination = {"destination": queue, "destination_type": "queue"}
    return {"source": exchange, "vhost": VHOST, **destination, "routing_key": "", "arguments": {}}


def _permission(user: str, configure: str, write: str, read: str, vhost: str = VHOST) -> dict[str, str]:
    return {"user": user, "vhost": vhost, "configure": configure, "write": write, "read": read}


def _account(name: str, password: str) -> dict[str, Any]:
    # RabbitMQ's salted form: base64 of the salt, followed by the digest of salt and password.
    salt = secrets.token_bytes(4)
    digest = hashlib.sha256(salt + password.encode()).digest()
    return {
        "name": name,
        "password_hash": base64.b64encode(salt + digest).decode(),
        "hashing_algorithm": "rabbit_password_hashing_sha256",
        "tags": ["administrator"] if name == ADMIN else [],
    }
