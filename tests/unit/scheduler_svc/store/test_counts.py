# SPDX-License-Identifier: Apache-2.0
"""The number of live claims by state."""

from scheduler_svc.core.records import ClaimRef
from tests.unit.scheduler_svc.store.store_partition import StorePartition


def test_counts_returns_live_claims_by_state(partition: StorePartition) -> None:
    partition.add_host("h1")
    for consumer in ("c1", "c2", "c3", "c4"):
        partition.prepare(consumer, "h1")
    partition.store.confirm("h1", [ClaimRef("c1", 1), ClaimRef("c2", 1)])
    partition.store.release("h1", [ClaimRef("c2", 1)])
    partition.store.abort([ClaimRef("c3", 1)])
    assert partition.store.counts() == {"prepared": 1, "confirmed": 1}


def test_counts_of_an_empty_partition_are_zero(partition: StorePartition) -> None:
    assert partition.store.counts() == {"prepared": 0, "confirmed": 0}
