# SPDX-License-Identifier: Apache-2.0
"""Roles of the store's servers after a fault, on real servers without sentinels."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from devstack.lab.chaos.faults import stores
from devstack.lab.chaos.faults.stores import restart_primary, restore_roles
from devstack.servers.ports import LOOPBACK, free_port
from devstack.servers.redis import RedisServer


@pytest.fixture
def group(make_redis: Callable[..., RedisServer], monkeypatch: pytest.MonkeyPatch) -> Any:
    """A primary, which the sentinels would name, and its replica."""
    monkeypatch.setattr(stores, "ROLE_SECONDS", 0.0)
    primary = make_redis(port=free_port())
    replica = make_redis(port=free_port(), replica_of=primary)
    return SimpleNamespace(servers=[primary, replica], primary=lambda: primary)


def roles(group: Any) -> list[str]:
    """Return the role of each server."""
    return [server.client().info("replication")["role"] for server in group.servers]


def test_servers_that_follow_each_other(group: Any) -> None:
    primary, replica = group.servers
    primary.client().execute_command("REPLICAOF", LOOPBACK, str(replica.port))
    restore_roles(group)
    assert roles(group) == ["master", "slave"]


def test_two_primaries(group: Any) -> None:
    group.servers[1].client().execute_command("REPLICAOF", "NO", "ONE")
    restore_roles(group)
    assert roles(group) == ["master", "slave"]


def test_server_that_does_not_run(group: Any) -> None:
    for server in group.servers:
        server.kill()
    restore_roles(group)
    assert roles(group) == ["master", "slave"]
    assert group.servers[1].client().info("replication")["master_link_status"] == "up"


def test_primary_that_was_a_replica_restarts_as_a_primary(group: Any) -> None:
    primary, replica = group.servers
    replica.client().execute_command("REPLICAOF", "NO", "ONE")
    primary.client().execute_command("REPLICAOF", LOOPBACK, str(replica.port))
    group.primary = lambda: replica
    assert restart_primary(group) is replica
    restore_roles(group)
    assert roles(group) == ["slave", "master"]
