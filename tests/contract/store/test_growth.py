# SPDX-License-Identifier: Apache-2.0
"""Hosts, claims, server groups and providers that come and go leave nothing in a partition's store."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from rpcapi.bounds import CollectionSize
from rpcapi.resources.claims import GroupPolicy
from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import ClaimGroup
from scheduler_svc.store.allocations import AllocationChange
from scheduler_svc.store.bounded import OPTIONS, ROTATES
from scheduler_svc.store.providers.changes import (
    CreateProvider,
    DeleteProvider,
    ProviderState,
    SetAggregates,
    SetInventories,
    SetTraits,
)
from tests.support.store.store_partition import SHORT_MS, SMALL, StorePartition

CYCLES = 20
NAME = "{:032}"  # longer than what allocators of memory round to


def use_host(partition: StorePartition, number: int) -> None:
    """Let a host join, run a member of a server group, and leave."""
    name = NAME.format(number)
    host = f"host{name}"
    partition.add_host(host)
    ref = partition.hold(name, host, group=ClaimGroup(name, GroupPolicy.ANTI_AFFINITY, 1))
    partition.store.release(host, [ref])
    partition.store.remove(host)


def use_provider(partition: StorePartition, number: int) -> None:
    """Create a provider of the Placement API, allocate from it, and delete it."""
    consumer = NAME.format(number)
    name = f"@api/{consumer}"

    def change(change: Any) -> ProviderState:
        state = partition.store.change_provider(change)
        assert isinstance(state, ProviderState), state
        return state

    def allocate(allocations: Mapping[str, Any], generation: int | None) -> None:
        change = AllocationChange(consumer, allocations, "p", "u", generation)
        assert partition.store.allocate([change]) is None

    change(CreateProvider(name, f"shelf {consumer}"))
    change(SetInventories(name, {"VCPU": Inventory(4)}))
    state = change(SetTraits(name, ["HW_CPU_X86_AVX2"]))
    change(SetAggregates(name, [f"{number:08}-0000-4000-8000-000000000000"], state.generation))
    allocate({name: {"VCPU": 1}}, None)
    allocate({}, partition.store.read_allocations([consumer])[consumer].generation)
    change(DeleteProvider(name))


def sizes(partition: StorePartition) -> dict[str, CollectionSize]:
    """Return the size of each collection once tombstones are old; log and decisions have bounds of their own."""
    partition.wait_until(partition.time() + 2 * SHORT_MS)
    partition.store.reap(dead_after_ms=None, tombstone_ms=SHORT_MS)
    return {name: size for name, size in partition.store.sizes().items() if name in OPTIONS.keys() - ROTATES}


@pytest.mark.parametrize("use", [use_host, use_provider])
def test_what_has_left_takes_no_room(partition: StorePartition, use: Callable[[StorePartition, int], None]) -> None:
    partition.add_host("stays", amounts=SMALL)
    for number in range(CYCLES):
        use(partition, number)
    before = sizes(partition)
    for number in range(CYCLES, 2 * CYCLES):
        use(partition, number)
    for collection, size in sizes(partition).items():
        assert size.entries == before[collection].entries, collection
        # Numbers become longer, but no name is left.
        assert size.bytes - before[collection].bytes < CYCLES * len(NAME.format(0)), collection
