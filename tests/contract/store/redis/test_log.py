# SPDX-License-Identifier: Apache-2.0
"""Documents and log entries of a newer schema are rejected, and the log that the answers to claims carry."""

from collections.abc import Iterator
from typing import Any

import pytest

from devstack.servers.redis import RedisServer
from rpcapi import errors
from scheduler_svc.core.records import BatchAnswer
from scheduler_svc.store.log import CARRIED_ENTRIES
from scheduler_svc.store.redis.keys import prefix
from tests.support.store.backends import redis_partition
from tests.support.store.store_partition import StorePartition, intent

LARGE = {"VCPU": 1 << 20, "MEMORY_MB": 1 << 30}


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


def claim_after(partition: StorePartition, position: int, *consumers: str) -> Any:
    """Prepare a batch of each consumer on h1, which must succeed; return the entries that come with the answers."""
    batches = [partition.batch(intent(consumer, "h1"), request_id=consumer) for consumer in consumers]
    outcomes, entries = partition.store.prepare_all(batches, position)
    assert [isinstance(outcome, BatchAnswer) and outcome.accepted for outcome in outcomes] == [True] * len(consumers)
    return entries


@pytest.fixture
def partition(redis_server: RedisServer) -> Iterator[StorePartition]:
    created = redis_partition(redis_server, log_length=1000)
    created.add_host("h1", amounts=LARGE)
    yield created
    created.store.close()


@pytest.mark.parametrize("consumers", [["one"], ["one", "two"]])
def test_answers_carry_the_log_since_a_position(partition: StorePartition, consumers: list[str]) -> None:
    before = partition.store.snapshot().position
    partition.prepare("others", "h1")
    partition.add_host("h2")
    entries = claim_after(partition, before, *consumers)
    assert entries == partition.store.follow(before, 0)
    assert [entry.payload["h1"]["VCPU"] for entry in entries if entry.kind == "used"] == [*range(1, 2 + len(consumers))]


def test_answers_carry_a_limited_number_of_entries(partition: StorePartition) -> None:
    before = partition.store.snapshot().position
    for number in range(CARRIED_ENTRIES + 5):
        partition.prepare(f"others{number}", "h1")
    assert claim_after(partition, before, "one") == partition.store.follow(before, 0, CARRIED_ENTRIES)


def test_claims_stand_where_the_log_is_a_gap(redis_server: RedisServer) -> None:
    partition = redis_partition(redis_server, log_length=1)
    partition.add_host("h1", amounts=LARGE)
    before = partition.store.snapshot().position
    for number in range(300):
        partition.prepare(f"others{number}", "h1")
    assert claim_after(partition, before, "one") is None
    assert claim_after(partition, partition.store.snapshot().position + 5, "two") is None
    partition.store.close()


def test_claims_stand_where_the_log_has_an_entry_of_a_newer_schema(
    partition: StorePartition, redis_server: RedisServer
) -> None:
    log, before = prefix(partition.store.partition) + "log", partition.store.snapshot().position
    partition.prepare("others", "h1")
    with redis_server.client() as client:
        ((entry_id, entry),) = client.xrevrange(log, count=1)
        client.xdel(log, entry_id)
        client.xadd(log, {**entry, "schema": "2"}, f"{before + 1}-1")
    assert claim_after(partition, before, "one") is None


def test_claims_stand_where_the_log_cannot_be_read(partition: StorePartition, redis_server: RedisServer) -> None:
    with redis_server.client() as client:
        client.acl_setuser("default", enabled=True, nopass=True, commands=["+@all", "-xrange"], keys=["*"])
        try:
            assert claim_after(partition, 0, "one", "two") is None
        finally:
            client.acl_setuser("default", enabled=True, nopass=True, commands=["+@all"], keys=["*"])
