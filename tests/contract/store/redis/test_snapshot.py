# SPDX-License-Identifier: Apache-2.0
"""Snapshots in pages, while others write between the pages."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from devstack.servers.redis import RedisServer
from rpcapi import errors
from scheduler_svc.core.records import ClaimRef, Snapshot
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.store.providers.changes import CreateProvider, DeleteProvider, UpdateProvider
from scheduler_svc.store.redis import snapshot as snapshots
from tests.support.scheduler import hosts
from tests.support.store.backends import redis_partition
from tests.support.store.store_partition import StorePartition, node_stats

PROVIDERS = [f"@api/{number}" for number in range(700)]  # a hash table: more than Redis keeps in one piece
WORDS = ("providers", "used", "alive", "opened", "services", "states")


@pytest.fixture
def partition(redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> StorePartition:
    """A partition of many pages."""
    monkeypatch.setattr(snapshots, "PAGE", 50)
    partition = redis_partition(redis_server, namespaces=["rack"])
    for provider in PROVIDERS:
        partition.store.change_provider(CreateProvider(provider, f"name {provider}"))
    for host in ("h1", "h2", "h3"):
        partition.add_host(host)
    partition.hold("c1", "h1")
    return partition


def write_between(partition: StorePartition, monkeypatch: pytest.MonkeyPatch, write: Callable[[int], None]) -> None:
    """Call ``write`` with 0, 1 ... before each page but the first ones."""
    scan, numbers = snapshots._scan, itertools.count()

    def scan_after_write(word: str, cursor: int) -> Any:
        if cursor:
            write(next(numbers))
        return scan(word, cursor)

    monkeypatch.setattr(snapshots, "_scan", scan_after_write)


def parts(snapshot: Snapshot) -> Any:
    """Return all that a snapshot has but sums of 0, which remain of providers that were deleted."""
    used = {name: sums for name, sums in snapshot.used.items() if any(sums.values())}
    return {word: dict(getattr(snapshot, word)) for word in WORDS} | {"used": used}


def change(partition: StorePartition, number: int) -> None:
    """Change a bit of everything, here and there among the pages."""
    store, victim = partition.store, PROVIDERS[7 * number]
    store.change_provider(UpdateProvider(PROVIDERS[7 * number + 1], f"renamed {number}", PROVIDERS[0]))
    store.change_provider(DeleteProvider(victim))
    store.change_provider(CreateProvider(f"@api/new{number}", f"new {number}", PROVIDERS[7 * number + 2]))
    store.put_state("rack", f"r{number}", 0, {"number": number})
    match number:
        case 0:
            store.release("h1", [ClaimRef("c1", 1)])
            partition.hold("c2", "h2")
        case 1:
            partition.report("h4", {"h4": node_stats({"VCPU": 2})})
        case 2:
            store.remove("h3")
            partition.fence("h2")


def test_snapshot_is_as_of_one_position_though_others_write_between_its_pages(
    partition: StorePartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = []

    def write(number: int) -> None:
        numbers.append(number)
        change(partition, number)

    write_between(partition, monkeypatch, write)
    paged = partition.store.snapshot(["rack"])
    monkeypatch.undo()
    assert len(numbers) > 5
    now = partition.store.snapshot(["rack"])
    assert (paged.epoch, paged.position) == (now.epoch, now.position)
    assert parts(paged) == parts(now)
    assert hosts.describe(HostTable.from_snapshot(paged)) == hosts.describe(HostTable.from_snapshot(now))


def test_small_partition_is_read_in_one_transaction(redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    partition = redis_partition(redis_server)
    partition.add_host("h1")
    reads = []
    connection = partition.store._connection
    monkeypatch.setattr(
        connection, "read", lambda *commands, read=connection.read: reads.append(commands) or read(*commands)
    )
    partition.store.snapshot()
    assert len(reads) == 1


def test_snapshot_is_read_again_where_the_log_lost_what_came_between(
    partition: StorePartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(number: int) -> None:
        if number == 3:
            change(partition, 0)
            partition.store.trim_log(1)

    write_between(partition, monkeypatch, write)
    paged = partition.store.snapshot(["rack"])
    monkeypatch.undo()
    now = partition.store.snapshot(["rack"])
    assert (paged.position, parts(paged)) == (now.position, parts(now))


def test_snapshot_of_a_new_epoch_is_read_again(partition: StorePartition, monkeypatch: pytest.MonkeyPatch) -> None:
    epochs = []
    write_between(partition, monkeypatch, lambda number: epochs.append(partition.new_epoch()) if number == 2 else None)
    assert partition.store.snapshot().epoch == epochs[0]


def test_partition_that_never_rests_longer_than_its_log_is_refused(
    partition: StorePartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(number: int) -> None:
        partition.store.put_state("rack", f"r{number}", 0, {"number": number})
        partition.store.trim_log(1)

    write_between(partition, monkeypatch, write)
    with pytest.raises(errors.StoreUnavailable, match="log_length"):
        partition.store.snapshot()
