# SPDX-License-Identifier: Apache-2.0
"""A primary becomes a replica and keeps its connections, as after an operator's REPLICAOF: workers find the new one.

A worker checked the identity through a connection to the former primary, was refused, and returned that connection to
its pool: it found "a replica, not the primary" again each time, until it was restarted.
"""

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from devstack.servers.ports import LOOPBACK, free_port
from devstack.servers.redis import RedisServer
from rpcapi.redis_failover import connection
from scheduler_svc.store.redis import RedisStore
from tests.support.store.store_partition import poll


def test_worker_leaves_a_former_primary(
    make_redis: Callable[..., RedisServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a store with an open connection to the primary
    old = make_redis(port=free_port())
    new = make_redis(port=free_port(), replica_of=old)
    locator = SimpleNamespace(primary=lambda: (LOOPBACK, old.port))
    monkeypatch.setattr(connection, "make_locator", lambda nodes, key: locator)
    store = RedisStore("redis+sentinel://127.0.0.1:1/gantt/0", "p1")
    epoch, _ = store.check_identity()
    # When the two servers change places, and nobody closes the connections of the former primary
    new.client().execute_command("REPLICAOF", "NO", "ONE")
    old.client().execute_command("REPLICAOF", LOOPBACK, str(new.port))
    poll(lambda: old.client().info("replication").get("master_link_status") == "up", 20)
    locator.primary = lambda: (LOOPBACK, new.port)
    # Then the store follows
    assert store.check_identity()[0] > epoch
    store.close()
