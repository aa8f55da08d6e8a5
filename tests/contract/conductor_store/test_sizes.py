# SPDX-License-Identifier: Apache-2.0
"""Sizes of the conductors' store, in memory and in Redis."""

from dataclasses import replace

from conductor.store.bounds import split_deleted
from conductor.store.keys import KEYS
from conductor.store.records import SagaStep
from conductor.store.redis import WORDS
from rpcapi.bounds import CollectionSize
from rpcapi.redis_failover.memory_usage import ALL_KEYS
from rpcapi.resources.statuses import InstanceStatus
from tests.support.conductor.bench import RETENTION_MS, StoreWithClock, request

UUIDS = [f"uuid-{number:032}" for number in range(50)]


def test_sizes_follow_records_deletions_and_purges(bench: StoreWithClock) -> None:
    store = bench.store
    empty = store.sizes()
    entries = {name: size.entries for name, size in empty.items() if name != ALL_KEYS}
    assert entries == {"records": 0, "queue": 0, "deleted": 0}
    store.record(request(), UUIDS)
    full = store.sizes()
    assert (full["records"].entries, full["queue"].entries) == (len(UUIDS), 1)
    assert full["records"].bytes > empty["records"].bytes + 100 * len(UUIDS)
    deleted = [
        replace(record, status=InstanceStatus.DELETED, step=SagaStep.DONE) for record in store.get(UUIDS[:40]).values()
    ]
    store.write_without_lease(deleted, wake=False)
    split = store.sizes()
    assert (split["records"].entries, split["deleted"].entries) == (10, 40)
    assert split["deleted"].bytes > split["records"].bytes
    bench.pass_time(RETENTION_MS + 1)
    store.purge()
    purged = store.sizes()
    assert (purged["records"].entries, purged["deleted"].entries) == (10, 0)
    assert purged["records"].bytes < full["records"].bytes


def test_every_key_that_grows_is_in_one_collection() -> None:
    words = [word for collection in WORDS.values() for word in collection]
    assert sorted([*words, "acknowledged", "meta", "counts", "stamps"]) == sorted(KEYS)


def test_deleted_instances_take_their_part_of_all() -> None:
    sizes = split_deleted(CollectionSize(10, 1000), 50, CollectionSize(2, 20), CollectionSize(4, 40))
    assert sizes == {
        "records": CollectionSize(6, 650),
        "queue": CollectionSize(2, 20),
        "deleted": CollectionSize(4, 440),
    }
    nothing = CollectionSize(0, 0)
    assert set(split_deleted(nothing, 0, nothing, nothing).values()) == {nothing}
