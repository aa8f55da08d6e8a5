# SPDX-License-Identifier: Apache-2.0
"""What a store at a bound refuses, and what it serves."""

from collections.abc import Callable
from typing import Any

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer
from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import BatchAnswer, ClaimRef
from scheduler_svc.store.allocations import ANY, AllocationChange
from scheduler_svc.store.bounded import OPTIONS, store_bounds
from scheduler_svc.store.providers.changes import (
    CreateProvider,
    DeleteProvider,
    ImportProvider,
    ProviderState,
    Refusal,
    SetAggregates,
    SetInventories,
    SetInventory,
    SetTraits,
    UpdateProvider,
)
from scheduler_svc.store.records import HostReport
from tests.support.store.backends import memory_partition
from tests.support.store.store_partition import LONG_MS, StorePartition, intent

TWO = {"VCPU": Inventory(1), "PCPU": Inventory(1)}
NEW = SetInventory("@api/1", "PCPU", Inventory(1), is_new=True)


@pytest.fixture
def partition() -> StorePartition:
    """A partition with host h1, a confirmed claim c1, a prepared one c2, a pin and a document; every bound is 1 byte.

    The sizes are measured: each collection is full.
    """
    partition = memory_partition(namespaces=["rack"])
    partition.add_host("h1")
    partition.hold("c1", "h1")
    partition.prepare("c2", "h1")
    partition.store.abort([ClaimRef("ended", 1)])
    partition.store.pin("request", "a", LONG_MS)
    partition.store.put_state("rack", "h1", 0, {"u": 1})
    partition.store.change_provider(CreateProvider("@api/1", "p"))
    partition.store.change_provider(SetInventories("@api/1", {"VCPU": Inventory(1)}))
    partition.store.bounds = store_bounds("p1", dict.fromkeys(OPTIONS, 1))
    partition.store.sizes()
    return partition


def prepare(partition: StorePartition) -> object:
    return partition.prepare("c3", "h1")


def test_batches_of_new_claims_are_refused_each(partition: StorePartition) -> None:
    repetition, new = (partition.batch(intent(consumer, "h1")) for consumer in ("c2", "new"))
    answer, refusal = partition.store.prepare_all([repetition, new]).outcomes
    assert isinstance(answer, BatchAnswer) and answer.accepted
    assert isinstance(refusal, errors.StoreFull)


def register(partition: StorePartition) -> object:
    report = HostReport(0, 1, {"h2": {"inventories": {}}}, register=True, agent="a")
    return partition.store.update_stats("h2", report)


def holding(consumer: str) -> AllocationChange:
    return AllocationChange(consumer, {"@api/1": {"VCPU": 1}}, "project", "user", ANY)


def imported(name: str) -> ImportProvider:
    return ImportProvider(f"@api/{name}", name, None, {}, [], [], 1, 1, 1, overwrite=True)


@pytest.mark.parametrize(
    ("refused", "collection"),
    [
        (prepare, "claims"),
        (register, "hosts"),
        (lambda partition: partition.store.pin("other", "a", LONG_MS), "pins"),
        (lambda partition: partition.store.group_home("g", "a", LONG_MS), "pins"),
        (lambda partition: partition.store.leave_group("g", "1", LONG_MS), "pins"),
        (lambda partition: partition.store.put_state("rack", "h2", 0, {"u": 1}), "documents"),
        (lambda partition: partition.store.allocate([holding("new")]), "claims"),
        (lambda partition: partition.store.change_provider(CreateProvider("@api/2", "q")), "hosts"),
        (lambda partition: partition.store.import_providers([imported("1"), imported("2")]), "hosts"),
        (lambda partition: partition.store.change_provider(SetTraits("@api/1", ["CUSTOM_A"])), "hosts"),
        (lambda partition: partition.store.change_provider(SetAggregates("h1", ["a"])), "hosts"),
        (lambda partition: partition.store.change_provider(NEW), "hosts"),
        (lambda partition: partition.store.change_provider(SetInventories("@api/1", TWO)), "hosts"),
    ],
)
def test_new_work_is_refused(
    partition: StorePartition, refused: Callable[[StorePartition], object], collection: str
) -> None:
    before = partition.store.snapshot()
    with pytest.raises(errors.StoreFull) as refusal:
        refused(partition)
    assert (refusal.value.kwargs["collection"], refusal.value.kwargs["option"]) == (
        collection,
        f"[store] {OPTIONS[collection]}",
    )
    assert partition.store.snapshot() == before


@pytest.mark.parametrize("collection", ["claims", "tombstones"])
def test_claims_or_tombstones_at_their_bound_refuse_claims(collection: str) -> None:
    partition = memory_partition()
    partition.add_host("h1")
    partition.hold("c1", "h1")
    partition.store.abort([ClaimRef("ended", 1)])
    partition.store.bounds = store_bounds("p1", {"claims": 1 << 20, "tombstones": 1 << 20, collection: 1})
    assert partition.store.accepts_claims()
    partition.store.sizes()
    assert not partition.store.accepts_claims()
    message = rf"{collection} take \d+ bytes, \[store\] {collection[:-1]}_bytes allows 1;"
    with pytest.raises(errors.StoreFull, match=message):
        partition.prepare("c2", "h1")


def test_whatever_ends_confirms_finds_or_audits_is_served(partition: StorePartition) -> None:
    store = partition.store
    assert store.import_providers([imported("1")]) == [None]  # in place of one that is stored
    assert [result.answer for result in store.confirm("h1", [ClaimRef("c2", 1)])] == [Answer.CONFIRMED]
    assert store.hosts_of(["c1"]) == {"c1": "h1"}
    store.audit("h1", store.snapshot().epoch, [], LONG_MS)
    partition.report("h1", {"h1": {"inventories": {}}})  # of a host that the store knows
    partition.incarnations.clear()
    partition.report("h1", {"h1": {"inventories": {}}})  # its agent registers again
    version, document = store.get_state("rack", "h1")
    version = store.put_state("rack", "h1", version, {**document, "u": 2})
    store.delete_state("rack", "h1", version)
    assert [result.answer for result in store.release("h1", [ClaimRef("c1", 1)])] == [Answer.RELEASED]
    assert [result.answer for result in store.abort([ClaimRef("new", 1)])] == [Answer.UNKNOWN]
    assert partition.fence("h1") == 1


def test_sizes_have_the_bounds(partition: StorePartition) -> None:
    sizes: Any = partition.store.sizes()
    assert {name: size.bound for name, size in sizes.items()} == dict.fromkeys(OPTIONS, 1)
    assert {name for name, size in sizes.items() if size.rotates} == {"log", "decisions"}


def test_bound_applies_from_the_measurement_that_found_it(partition: StorePartition) -> None:
    unmeasured = partition.store
    unmeasured.bounds = store_bounds("p1", dict.fromkeys(OPTIONS, 1))
    batch = partition.batch(intent("c3", "h1"))
    assert unmeasured.prepare(batch).accepted
    unmeasured.sizes()
    assert unmeasured.prepare(batch).accepted  # it adds nothing
    with pytest.raises(errors.StoreFull):
        unmeasured.prepare(partition.batch(intent("c4", "h1")))


def test_changes_of_providers_that_add_nothing_are_served_at_the_bound(partition: StorePartition) -> None:
    # what exists or does not is refused as in any state
    assert isinstance(partition.store.change_provider(CreateProvider("@api/1", "p")), Refusal)
    assert isinstance(partition.store.change_provider(SetTraits("@api/2", ["CUSTOM_A"])), Refusal)
    for change in (
        SetInventories("@api/1", {"PCPU": Inventory(2)}),
        SetInventory("@api/1", "PCPU", None),
        UpdateProvider("@api/1", "q"),
        DeleteProvider("@api/1"),
    ):
        assert isinstance(partition.store.change_provider(change), ProviderState)


def test_reshapes_that_add_nothing_are_served_at_the_bound(partition: StorePartition) -> None:
    smaller = [SetInventories("@api/1", {"PCPU": Inventory(1)})]
    new_consumer = AllocationChange("c9", {"@api/1": {"PCPU": 1}}, "p", "u", None)
    for inventories, changes in (([SetInventories("@api/1", TWO)], []), (smaller, [new_consumer])):
        with pytest.raises(errors.StoreFull):
            partition.store.reshape(inventories, changes)
    assert partition.store.reshape(smaller, []) is None
