# SPDX-License-Identifier: Apache-2.0
"""The definitions of a RabbitMQ node: users with their permissions, and the exchanges."""

import base64
import hashlib
import json
import secrets
from collections.abc import Iterable
from typing import Any

from devstack.servers.folder import Passwords
from rpcapi.access.rabbit_users import DEPLOYED_EXCHANGES, VHOST, RabbitUser

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
        "exchanges": [_exchange(name, kind) for name, kind in DEPLOYED_EXCHANGES.items()],
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
