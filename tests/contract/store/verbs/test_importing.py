# SPDX-License-Identifier: Apache-2.0
"""Import of providers and consumers as another Placement has them."""

from dataclasses import replace
from typing import Any

import pytest

from rpcapi import errors
from rpcapi.resources.inventory import Inventory
from scheduler_svc.store.allocations import ANY, AllocationChange, ConsumerImport, is_api_claim, is_imported
from scheduler_svc.store.providers.changes import (
    CreateProvider,
    ImportProvider,
    ProviderState,
    Refusal,
    RefusalKind,
    SetTraits,
    UpdateProvider,
)
from scheduler_svc.store.providers.checks import MAX_IMPORTS
from tests.support.clouds.replica import LogFollower
from tests.support.store.store_partition import StorePartition

ROOT, CHILD, OTHER = "@api/root", "@api/child", "@api/other"
LARGE = 10**8  # beyond the positions of any test's log


@pytest.fixture
def partition(make_partition: Any) -> StorePartition:
    partition = make_partition()
    partition.add_host("h1")
    return partition


def provider(**parts: Any) -> ImportProvider:
    values: dict[str, Any] = {
        "provider": ROOT,
        "name": "node-1",
        "parent": None,
        "inventories": {"VCPU": Inventory(4, allocation_ratio=1.5)},
        "traits": ["HW_CPU_X86_AVX"],
        "aggregates": ["a1"],
        "generation": 57,
        "created_ms": 1_000,
        "changed_ms": 2_000,
    }
    return ImportProvider(**values | parts)


def consumer(name: str = "c1", amount: int = 2, **parts: Any) -> ConsumerImport:
    values: dict[str, Any] = {
        "allocations": {ROOT: {"VCPU": amount}} if amount else {},
        "project": "p",
        "user": "u",
        "type": "INSTANCE",
        "generation": 3,
        "changed_ms": 1_500,
    }
    return ConsumerImport(name, **values | parts)


def imported(partition: StorePartition, change: ImportProvider) -> ProviderState:
    """Import a provider, and check all that can be recomputed."""
    state = partition.store.change_provider(change)
    assert isinstance(state, ProviderState), state
    assert partition.store.read_providers([change.provider]) == {change.provider: state}
    partition.check()
    return state


def refusal_kind(partition: StorePartition, change: ImportProvider) -> RefusalKind:
    """Return why an import is refused, which must change nothing."""
    before = partition.store.snapshot()
    refusal = partition.store.change_provider(change)
    assert isinstance(refusal, Refusal), refusal
    assert partition.store.snapshot() == before
    return refusal.kind


def test_a_provider_is_stored_as_it_was(partition: StorePartition) -> None:
    state = imported(partition, provider())
    assert state.generation == 57
    assert state.document["name"] == "node-1"
    assert state.document["inventories"]["VCPU"]["capacity"] == 6
    assert (state.document["traits"], state.document["aggregates"]) == (["HW_CPU_X86_AVX"], ["a1"])
    assert (state.document["created_ms"], state.document["changed_ms"]) == (1_000, 2_000)


def test_a_repeated_import_writes_nothing(partition: StorePartition) -> None:
    imported(partition, provider())
    position = partition.store.snapshot().position
    imported(partition, provider())
    assert partition.store.snapshot().position == position


def test_a_later_import_replaces_every_part(partition: StorePartition) -> None:
    imported(partition, provider())
    imported(partition, provider(provider=OTHER, name="node-2", generation=1))
    imported(partition, provider(provider=CHILD, name="child", parent=ROOT))
    later = provider(
        provider=CHILD, name="renamed", parent=OTHER, inventories={}, traits=[], aggregates=[], generation=3
    )
    state = imported(partition, later)
    assert state.generation == 3
    assert {part: state.document.get(part) for part in ("name", "parent", "root", "inventories", "aggregates")} == {
        "name": "renamed",
        "parent": OTHER,
        "root": OTHER,
        "inventories": {},
        "aggregates": None,
    }
    states = partition.store.read_providers([ROOT, OTHER])
    assert (states[ROOT].children, states[OTHER].children) == ((), (CHILD,))


def test_providers_are_imported_together(partition: StorePartition) -> None:
    imported(partition, provider(name="former"))
    batch = [
        provider(name="latter"),
        provider(provider=OTHER, name="former", generation=LARGE),  # which the first one gives up
        provider(provider=CHILD, name="child", parent=OTHER),
    ]
    for _repetition in range(2):
        assert partition.store.import_providers(batch) == [None, None, None]
        states = partition.store.read_providers([ROOT, OTHER, CHILD])
        assert [state.document["name"] for state in states.values()] == ["latter", "former", "child"]
        assert [state.generation for state in states.values()] == [57, LARGE, 57]
        assert states[OTHER].children == (CHILD,)
        partition.check()
        position = partition.store.snapshot().position
    assert partition.store.import_providers(batch) == [None, None, None]
    assert partition.store.snapshot().position == position


def test_of_providers_that_are_imported_together_some_may_be_refused(partition: StorePartition) -> None:
    partition.store.change_provider(CreateProvider(OTHER, "of a client"))
    batch = [
        provider(provider=CHILD, name="child", parent=ROOT),  # which comes after it
        provider(),
        provider(provider=OTHER, name="other"),
        provider(provider="@api/same", name="node-1"),
        provider(provider="@api/last", name="last", parent=ROOT),
    ]
    answers = partition.store.import_providers(batch)
    kinds = [None if answer is None else answer.kind for answer in answers]
    assert kinds == [RefusalKind.PARENT, None, RefusalKind.GENERATION, RefusalKind.NAME, None]
    assert partition.store.read_providers([ROOT])[ROOT].children == ("@api/last",)
    partition.check()


def test_malformed_providers_are_refused_together(partition: StorePartition) -> None:
    malformed: list[list[ImportProvider]] = [
        [],
        [provider(), provider(name="again")],
        [provider(), provider(provider=OTHER, generation=-1)],
        [provider(provider=f"@api/{number}", name=str(number)) for number in range(MAX_IMPORTS + 1)],
    ]
    before = partition.store.snapshot()
    for batch in malformed:
        with pytest.raises(errors.InvalidRequest):
            partition.store.import_providers(batch)
    assert partition.store.snapshot() == before


def test_the_log_skips_to_a_large_generation_so_that_none_repeats_in_a_later_epoch(partition: StorePartition) -> None:
    replica = LogFollower(partition)
    imported(partition, provider(generation=LARGE))
    assert partition.store.import_allocations([consumer(generation=2 * LARGE)]) is None
    replica.follow()
    replica.check()
    partition.new_epoch()
    assert partition.store.read_generations([ROOT])[ROOT] > LARGE
    assert partition.store.read_allocations(["c1"])["c1"].generation > 2 * LARGE


def test_in_a_later_epoch_a_generation_is_at_least_its_first(partition: StorePartition) -> None:
    partition.new_epoch()
    base = partition.store.read_generations(["@api/none"])["@api/none"]
    assert imported(partition, provider()).generation == base > 57
    assert imported(partition, provider(generation=base + 2)).generation == base + 2


def test_a_new_epoch_does_not_end_an_import(partition: StorePartition) -> None:
    imported(partition, provider())
    assert partition.store.import_allocations([consumer()]) is None
    partition.new_epoch()
    imported(partition, provider(name="renamed", generation=58))
    assert partition.store.import_allocations([consumer(amount=3)]) is None


@pytest.mark.parametrize(
    "change", [SetTraits(ROOT, ["HW_CPU_X86_AVX", "CUSTOM_A"]), UpdateProvider(ROOT, name="renamed")]
)
def test_what_a_client_changed_is_not_replaced(partition: StorePartition, change: Any) -> None:
    imported(partition, provider())
    partition.store.change_provider(change)
    assert refusal_kind(partition, provider(generation=58)) is RefusalKind.GENERATION


def test_a_provider_on_which_a_client_allocated_is_not_replaced(partition: StorePartition) -> None:
    imported(partition, provider())
    assert partition.store.allocate([AllocationChange("c9", {ROOT: {"VCPU": 1}}, "p", "u", None)]) is None
    assert refusal_kind(partition, provider(traits=[])) is RefusalKind.GENERATION


def test_a_provider_that_a_client_made_is_not_replaced(partition: StorePartition) -> None:
    partition.store.change_provider(CreateProvider(ROOT, "node-1"))
    assert refusal_kind(partition, provider()) is RefusalKind.GENERATION


def test_places_that_cannot_be_are_refused(partition: StorePartition) -> None:
    imported(partition, provider())
    imported(partition, provider(provider=CHILD, name="child", parent=ROOT))
    assert refusal_kind(partition, provider(provider=OTHER)) is RefusalKind.NAME
    assert refusal_kind(partition, provider(provider=OTHER, name="h1")) is RefusalKind.NAME
    assert refusal_kind(partition, provider(provider=OTHER, name="o", parent="@api/none")) is RefusalKind.PARENT
    assert refusal_kind(partition, provider(parent=CHILD)) is RefusalKind.LOOP
    assert refusal_kind(partition, provider(parent=ROOT)) is RefusalKind.LOOP
    with pytest.raises(errors.InvalidName):
        partition.store.change_provider(provider(provider="h2"))
    with pytest.raises(errors.InvalidRequest):
        partition.store.change_provider(provider(generation=-1))


def test_allocations_are_stored_as_they_were(partition: StorePartition) -> None:
    imported(partition, provider())
    for _repetition in range(2):
        assert partition.store.import_allocations([consumer(), consumer("c2", 1, generation=9)]) is None
        partition.check()
        state = partition.store.read_allocations(["c1"])["c1"]
        assert (state.generation, state.project, state.user, state.type) == (3, "p", "u", "INSTANCE")
        assert (state.created_ms, is_api_claim(state), is_imported(state)) == (1_500, True, True)
        root = partition.store.read_providers([ROOT])[ROOT]
        assert (root.generation, root.used) == (57, {"VCPU": 3, "claims": 2})


@pytest.mark.parametrize(
    "later",
    [
        consumer(amount=1, project="other"),
        consumer(allocations={ROOT: {"PGPU": 1}}),
        consumer(allocations={OTHER: {"VCPU": 1}}),
        consumer(allocations={ROOT: {"VCPU": 1}, OTHER: {"VCPU": 1}}),
    ],
)
def test_an_import_replaces_what_an_earlier_one_stored(partition: StorePartition, later: ConsumerImport) -> None:
    imported(partition, provider())
    imported(partition, provider(provider=OTHER, name="node-2"))
    for item in (consumer(), later, consumer()):
        assert partition.store.import_allocations([item]) is None
        partition.check()
        state = partition.store.read_allocations(["c1"])["c1"]
        assert (state.allocations, state.project) == (item.allocations, item.project)
        for name in (ROOT, OTHER):
            holders = [holder.consumer for holder in partition.store.list_holders(name)[0]]
            assert holders == (["c1"] if name in item.allocations else [])
        assert partition.store.usages(item.project)["INSTANCE"].consumers == 1


def test_an_excess_is_stored_and_flagged(partition: StorePartition) -> None:
    imported(partition, provider())
    oversold = consumer(allocations={ROOT: {"VCPU": 7, "PGPU": 1}})
    assert partition.store.import_allocations([oversold]) is None
    partition.check()
    excess = partition.store.verify().excess
    assert [(row["class"], row["used"], row["capacity"]) for row in excess] == [("PGPU", 1, 0), ("VCPU", 7, 6)]


def test_an_import_without_allocations_ends_what_was_imported(partition: StorePartition) -> None:
    imported(partition, provider())
    assert partition.store.import_allocations([consumer()]) is None
    assert partition.store.import_allocations([consumer(amount=0), consumer("c2", 0)]) is None
    partition.check()
    assert partition.store.read_allocations(["c1", "c2"]) == {}
    assert not any(partition.store.read_providers([ROOT])[ROOT].used.values())


def refused(partition: StorePartition, *imports: ConsumerImport) -> Refusal:
    """Return why an import is refused, which must change nothing."""
    before, names = partition.store.snapshot(), [item.consumer for item in imports]
    states = partition.store.read_allocations(names)
    refusal = partition.store.import_allocations(imports)
    assert refusal is not None
    assert partition.store.snapshot() == before
    assert partition.store.read_allocations(names) == states
    return refusal


def test_an_import_is_stored_whole_or_not_at_all(partition: StorePartition) -> None:
    imported(partition, provider())
    dangling = consumer("c2", allocations={OTHER: {"VCPU": 1}})
    assert refused(partition, consumer(), dangling) == Refusal(RefusalKind.PROVIDER, OTHER, consumer="c2")


def test_consumers_of_others_are_not_replaced(partition: StorePartition) -> None:
    imported(partition, provider())
    partition.hold("c2", "h1")
    assert refused(partition, consumer(), consumer("c2")) == Refusal(RefusalKind.OWNER, "", consumer="c2")
    assert partition.store.import_allocations([consumer("c3")]) is None
    assert partition.store.allocate([AllocationChange("c3", {ROOT: {"VCPU": 1}}, "p", "u", ANY)]) is None
    assert not is_imported(partition.store.read_allocations(["c3"])["c3"])
    assert refused(partition, consumer("c3")) == Refusal(RefusalKind.CONSUMER, "", actual=4, consumer="c3")


def test_malformed_imports_are_refused(partition: StorePartition) -> None:
    for malformed in ([], [consumer(), consumer()], [consumer(generation=-1)], [replace(consumer(), type="\0")]):
        with pytest.raises(errors.InvalidRequest):
            partition.store.import_allocations(malformed)


def test_with_overwrite_what_clients_wrote_is_replaced(partition: StorePartition) -> None:
    imported(partition, provider())
    partition.store.change_provider(SetTraits(ROOT, ["CUSTOM_A"]))
    for allocations in ({ROOT: {"VCPU": 1}}, {ROOT: {"VCPU": 2}}):
        assert partition.store.allocate([AllocationChange("c1", allocations, "p", "u", ANY)]) is None
    assert imported(partition, provider(overwrite=True)).document["traits"] == ["HW_CPU_X86_AVX"]
    assert partition.store.import_allocations([consumer(amount=3)], overwrite=True) is None
    partition.check()
    state = partition.store.read_allocations(["c1"])["c1"]
    assert (state.generation, state.allocations, is_imported(state)) == (3, {ROOT: {"VCPU": 3}}, True)
    assert partition.store.read_generations([ROOT])[ROOT] == 57


def test_with_overwrite_what_agents_own_stays(partition: StorePartition) -> None:
    imported(partition, provider())
    partition.hold("c2", "h1")
    refusal = partition.store.import_allocations([consumer("c2")], overwrite=True)
    assert refusal == Refusal(RefusalKind.OWNER, "", consumer="c2")
