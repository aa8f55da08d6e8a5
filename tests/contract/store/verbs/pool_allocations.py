# SPDX-License-Identifier: Apache-2.0
"""Allocations of a pool that clients of the Placement API replace."""

from typing import Any

from rpcapi.resources.inventory import Inventory
from scheduler_svc.store.allocations import ANY, AllocationChange
from scheduler_svc.store.providers.changes import (
    CreateProvider,
    SetInventories,
)
from tests.support.store.store_partition import StorePartition

POOL, OTHER = "@api/pool", "@api/other"


def partition_with_pool(make_partition: Any) -> StorePartition:
    """Return a partition with host h1, and a pool of the Placement API with 8 GB in steps of 2."""
    partition = make_partition()
    partition.add_host("h1")
    partition.store.change_provider(CreateProvider(POOL, "pool"))
    partition.store.change_provider(SetInventories(POOL, {"DISK_GB": Inventory(8, step_size=2, max_unit=6)}))
    return partition


def disk(amount: int) -> dict[str, dict[str, int]]:
    return {POOL: {"DISK_GB": amount}}


def put(consumer: str, allocations: Any, generation: Any = ANY, **options: Any) -> AllocationChange:
    return AllocationChange(consumer, allocations, "p", "u", generation, **options)


def accepted(partition: StorePartition, *changes: AllocationChange) -> None:
    """Apply changes together, and check all that can be recomputed."""
    assert partition.store.allocate(changes) is None
    partition.check()
