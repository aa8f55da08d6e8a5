# SPDX-License-Identifier: Apache-2.0
"""Documents and log entries of a newer schema are rejected."""

import pytest

from devstack.servers.redis import RedisServer
from rpcapi import errors
from scheduler_svc.store.redis.keys import prefix
from tests.unit.scheduler_svc.store.backends import redis_partition


def test_log_entry_of_a_newer_schema_is_rejected(redis_server: RedisServer) -> None:
    partition = redis_partition(redis_server)
    partition.add_host("h1")
    log, position = prefix(partition.store.partition) + "log", partition.store.snapshot().position
    with redis_server.client() as client:
        ((_id, entry),) = client.xrevrange(log, count=1)
        assert entry["schema"] == "1"
        client.xadd(log, {**entry, "schema": "2"}, f"{position + 1}-0")
    with pytest.raises(errors.IncompatibleObject, match="log entry"):
        partition.store.follow(position, 5)


def test_document_of_a_newer_schema_is_rejected(redis_server: RedisServer) -> None:
    partition = redis_partition(redis_server)
    partition.add_host("h1")
    redis_server.client().hset(f"gantt:{{p:{partition.store.partition}}}:providers", "h1", '{"schema":2}')
    with pytest.raises(errors.IncompatibleObject, match="newer"):
        dict(partition.store.snapshot().providers)
    partition.store.close()
