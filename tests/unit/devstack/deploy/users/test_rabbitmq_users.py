# SPDX-License-Identifier: Apache-2.0
"""Definitions of a RabbitMQ node."""

import base64
import hashlib
import json

from devstack.deploy.users.folder import Passwords
from devstack.deploy.users.rabbitmq_users import definitions
from rpcapi.access.broker_users import SERVICE_USERS

USERS = {user.name: user for user in SERVICE_USERS}


def test_definitions_have_salted_digests_instead_of_passwords(tmp_path):
    (tmp_path / "passwords").mkdir(mode=0o700)
    passwords = Passwords(tmp_path)
    text = definitions(SERVICE_USERS, passwords)
    document = json.loads(text)
    assert [user["name"] for user in document["users"]] == ["admin", *USERS]
    assert [user["tags"] for user in document["users"]] == [["administrator"], *[[]] * len(USERS)]
    for user in document["users"]:
        password = passwords.of(user["name"])
        assert password not in text
        raw = base64.b64decode(user["password_hash"])
        assert raw[4:] == hashlib.sha256(raw[:4] + password.encode()).digest()
    assert {entry["user"] for entry in document["topic_permissions"]} == set(USERS)
