# SPDX-License-Identifier: Apache-2.0
"""Permissions of the services on RabbitMQ."""

import base64
import hashlib
import json
import re

import pytest

from devstack.servers.folder import Passwords
from devstack.servers.rabbitmq_users import SERVICE_USERS, RabbitUser, definitions

USERS = {user.name: user for user in SERVICE_USERS}


def allows(pattern, name):
    return re.match(pattern, name) is not None


@pytest.mark.parametrize(
    ("caller", "service", "allowed"),
    [
        ("client", "scheduler", True),
        ("client", "compute", False),
        ("compute", "conductor", True),
        ("compute", "compute", False),  # no agent calls another
        ("scheduler", "compute", False),
        ("scheduler", "conductor", True),
        ("conductor", "compute", True),
    ],
)
def test_service_may_call_only_what_it_needs(caller, service, allowed):
    assert allows(USERS[caller].write, f"gantt-{service}") is allowed


@pytest.mark.parametrize("user", USERS.values(), ids=USERS)
def test_nobody_may_publish_to_the_default_exchange_or_read_queues_of_others(user):
    assert not allows(user.write, "")
    assert not allows(user.write, "amq.default")
    for service in {"scheduler", "claims", "conductor", "compute"} - set(user.serves):
        assert not allows(user.read, service)
        assert not allows(user.read, f"{service}.host1")


def test_server_reads_its_topics_of_all_partitions_and_fanouts():
    user = RabbitUser("scheduler", serves=("claims",))
    for queue in ("claims", "claims.cell1", "claims.cell1_fanout_0f", "claims_fanout_0f"):
        assert allows(user.read, queue)
    for queue in ("claims2", "my.claims", "claimsx.cell1"):
        assert not allows(user.read, queue)


def test_only_the_conductor_sends_fanouts_to_agents():
    assert [name for name, user in USERS.items() if allows(user.write, "compute_fanout")] == ["conductor"]


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
