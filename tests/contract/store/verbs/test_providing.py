# SPDX-License-Identifier: Apache-2.0
"""Providers as the Placement API changes them, beside the hosts and claims of agents."""

import threading
from typing import Any

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer
from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import Candidate, ClaimRef, Intent
from scheduler_svc.store.providers.changes import (
    CreateProvider,
    DeleteProvider,
    ProviderChange,
    ProviderState,
    Refusal,
    RefusalKind,
    SetAggregates,
    SetInventories,
    SetInventory,
    SetTraits,
    UpdateProvider,
)
from tests.support.clouds.replica import LogFollower
from tests.support.store.store_partition import StorePartition

POOL, CHILD, LEAF = "@api/pool", "@api/child", "@api/leaf"


def change(partition: StorePartition, requested: ProviderChange) -> ProviderState:
    """Apply a change, and check all that can be recomputed."""
    state = partition.store.change_provider(requested)
    assert isinstance(state, ProviderState), state
    if not isinstance(requested, DeleteProvider):
        assert partition.store.read_providers([requested.provider]) == {requested.provider: state}
    partition.check()
    return state


def refused(partition: StorePartition, requested: ProviderChange) -> Refusal:
    """Return why a change is refused, which must change nothing."""
    before = partition.store.snapshot()
    refusal = partition.store.change_provider(requested)
    assert isinstance(refusal, Refusal), refusal
    assert partition.store.snapshot() == before
    return refusal


def make_pool(partition: StorePartition, total: int = 4) -> ProviderState:
    change(partition, CreateProvider(POOL, "a pool"))
    return change(partition, SetInventories(POOL, {"DISK_GB": Inventory(total)}, 0))


def hold(partition: StorePartition, consumer: str, amount: int, **options: Any) -> Answer:
    """Prepare a claim on h1 and the pool."""
    allocations = {"h1": {"VCPU": 1}, POOL: {"DISK_GB": amount}}
    batch = partition.batch(Intent(consumer, 1, [Candidate("h1", allocations)]), resources={}, **options)
    return partition.store.prepare(batch).prepared[0].answer


def test_created_provider_is_read_listed_and_replicated(partition: StorePartition) -> None:
    replica = LogFollower(partition)
    state = change(partition, CreateProvider(POOL, "a pool ☃"))
    assert (state.id, state.generation, state.used, state.children) == (POOL, 0, {}, ())
    assert (state.document["name"], state.document["root"], state.document["parent"]) == ("a pool ☃", POOL, None)
    assert (state.document["owner"], state.document["kind"]) == ("api", "provider")
    lead = partition.store.clock_lead()
    assert abs(state.document["created_ms"] - partition.time() - lead) < 60_000
    assert partition.store.get_state("compute", POOL)[1]["name"] == "a pool ☃"
    replica.follow()
    replica.check()
    assert replica.snapshot.providers[POOL] == state.document


def test_unknown_providers_are_left_out(partition: StorePartition) -> None:
    assert partition.store.read_providers(["h1", POOL]) == {}
    assert partition.store.read_providers([]) == {}
    assert partition.store.read_generations([POOL, "h1"]) == {POOL: 0, "h1": 0}
    assert partition.store.read_generations([]) == {}


@pytest.mark.parametrize("verb", ["read_providers", "read_generations"])
def test_a_text_is_no_list_of_ids(partition: StorePartition, verb: str) -> None:
    with pytest.raises(errors.InvalidRequest, match="a list of ids, not as the text '@api/pool'"):
        getattr(partition.store, verb)(POOL)


def test_generation_counts_exactly_the_changes_that_increase_it(partition: StorePartition) -> None:
    make_pool(partition)
    generations = []
    for requested in (
        SetInventories(POOL, {"DISK_GB": Inventory(4)}, 1),
        SetInventory(POOL, "VCPU", Inventory(1), is_new=True),
        SetInventory(POOL, "VCPU", Inventory(2), 3),
        SetInventory(POOL, "VCPU", None),
        SetTraits(POOL, ["CUSTOM_A"], 5),
        SetTraits(POOL, ["CUSTOM_A"], 6),  # unchanged
        SetAggregates(POOL, ["a1"], 6),
        SetAggregates(POOL, ["a2"]),  # a microversion without generation
        UpdateProvider(POOL, "another name"),
    ):
        generations.append(change(partition, requested).generation)
        assert partition.store.read_generations([POOL]) == {POOL: generations[-1]}
    assert generations == [2, 3, 4, 5, 6, 6, 7, 7, 7]
    assert refused(partition, SetTraits(POOL, [], 6)) == Refusal(RefusalKind.GENERATION, POOL, (), 6, 7)


def test_deleted_provider_leaves_nothing(partition: StorePartition) -> None:
    make_pool(partition)
    before = partition.store.snapshot().position
    change(partition, DeleteProvider(POOL))
    assert partition.store.read_providers([POOL]) == {}
    assert partition.store.read_generations([POOL]) == {POOL: 0}
    assert [(entry.kind, entry.payload) for entry in partition.store.follow(before, 0) or ()] == [("gone", [POOL])]
    assert refused(partition, DeleteProvider(POOL)).kind is RefusalKind.PROVIDER
    assert change(partition, CreateProvider(POOL, "a pool")).document["version"] == 1


def test_names_are_unique_over_both_owners(partition: StorePartition) -> None:
    partition.add_host("h1")
    change(partition, CreateProvider(POOL, "a pool"))
    for name, holder in (("a pool", POOL), ("h1", "h1")):
        assert refused(partition, CreateProvider(LEAF, name)) == Refusal(RefusalKind.NAME, holder)
    change(partition, CreateProvider(LEAF, "@api/pool"))  # a name is no id
    assert refused(partition, UpdateProvider(LEAF, "a pool")) == Refusal(RefusalKind.NAME, POOL)
    change(partition, UpdateProvider(POOL, "b pool"))
    change(partition, UpdateProvider(LEAF, "a pool"))
    change(partition, UpdateProvider(LEAF, "a pool"))
    change(partition, DeleteProvider(LEAF))
    change(partition, CreateProvider(CHILD, "a pool"))


def test_tree_moves_as_a_whole(partition: StorePartition) -> None:
    partition.add_host("h1")
    change(partition, CreateProvider(POOL, "p"))
    assert change(partition, CreateProvider(CHILD, "c", POOL)).document["root"] == POOL
    change(partition, CreateProvider(LEAF, "l", CHILD))
    assert partition.store.read_providers([POOL])[POOL].children == (CHILD,)
    assert refused(partition, DeleteProvider(CHILD)).kind is RefusalKind.CHILDREN
    assert refused(partition, UpdateProvider(POOL, parent=LEAF)).kind is RefusalKind.LOOP
    moved = change(partition, UpdateProvider(CHILD, parent="h1"))
    assert (moved.document["root"], moved.children, moved.generation) == ("h1", (LEAF,), 0)
    states = partition.store.read_providers([LEAF, "h1", POOL])
    assert states[LEAF].document["root"] == "h1"
    assert (states["h1"].children, states[POOL].children) == ((CHILD,), ())
    change(partition, UpdateProvider(CHILD, parent=None))
    assert partition.store.read_providers([LEAF])[LEAF].document["root"] == CHILD
    for provider in (LEAF, CHILD, POOL):
        change(partition, DeleteProvider(provider))


def test_inventory_in_use_is_not_removed(partition: StorePartition) -> None:
    partition.add_host("h1")
    make_pool(partition)
    assert hold(partition, "c1", 2) is Answer.PREPARED
    change(partition, SetInventory(POOL, "VCPU", Inventory(4), is_new=True))
    expected = Refusal(RefusalKind.IN_USE, POOL, ["DISK_GB"])
    for requested in (SetInventories(POOL, {}), SetInventory(POOL, "DISK_GB", None), DeleteProvider(POOL)):
        assert refused(partition, requested) == expected
    change(partition, SetInventory(POOL, "VCPU", None))
    # an operator may shrink it below what is used, which is flagged
    change(partition, SetInventory(POOL, "DISK_GB", Inventory(1)))
    assert [(row["provider"], row["used"], row["capacity"]) for row in partition.check().excess] == [(POOL, 2, 1)]
    partition.store.abort([ClaimRef("c1", 1)])
    change(partition, DeleteProvider(POOL))


def test_claim_past_its_deadline_uses_nothing(partition: StorePartition) -> None:
    partition.add_host("h1")
    make_pool(partition)
    assert hold(partition, "c1", 2) is Answer.PREPARED
    partition.pass_deadline_of("c1")
    change(partition, SetInventories(POOL, {}))
    assert hold(partition, "c2", 2) is Answer.REFUSED


def test_claims_increase_the_generation_of_the_apis_providers_only(partition: StorePartition) -> None:
    partition.add_host("h1")
    make_pool(partition)
    assert hold(partition, "c1", 2) is Answer.PREPARED
    assert partition.store.read_generations([POOL, "h1"]) == {POOL: 2, "h1": 0}
    assert hold(partition, "c2", 3) is Answer.REFUSED
    partition.store.confirm("h1", [ClaimRef("c1", 1)])
    partition.store.release("h1", [ClaimRef("c1", 1)])
    assert partition.store.read_generations([POOL, "h1"]) == {POOL: 2, "h1": 0}
    intents = [Intent(name, 1, [Candidate("h1", {POOL: {"DISK_GB": 1}})]) for name in ("c3", "c4")]
    assert partition.store.prepare(partition.batch(*intents, resources={})).accepted
    assert partition.store.read_generations([POOL]) == {POOL: 3}  # once a verb, as the log has one entry
    partition.check()


def test_generations_never_repeat_after_the_store_forgot_changes(partition: StorePartition) -> None:
    generations = [make_pool(partition).generation]
    mark = partition.mark()
    for _ in range(3):
        for _ in range(5):
            generations.append(change(partition, SetInventories(POOL, {})).generation)
        partition.forget_since(mark)
        generations.append(partition.store.read_generations([POOL])[POOL])
        refusal = refused(partition, SetInventories(POOL, {}, generations[-2]))
        assert (refusal.kind, refusal.actual) == (RefusalKind.GENERATION, generations[-1])
    assert generations == sorted(set(generations))
    change(partition, SetInventories(POOL, {}, generations[-1]))


def test_api_providers_take_claims_in_a_new_epoch_once_hosts_have_audited(partition: StorePartition) -> None:
    partition.add_host("h1")
    make_pool(partition)
    epoch = partition.new_epoch()
    assert hold(partition, "c1", 1) is Answer.REFUSED
    partition.store.audit("h1", epoch, [], 0)
    assert hold(partition, "c1", 1) is Answer.PREPARED
    assert list(partition.check().awaited) == []


@pytest.mark.parametrize("requested", [SetInventories("h1", {}), UpdateProvider("h1", "x"), DeleteProvider("h1")])
def test_agents_provider_is_its_agents_to_change(partition: StorePartition, requested: ProviderChange) -> None:
    partition.add_host("h1")
    assert refused(partition, requested).kind is RefusalKind.OWNER


def test_service_host_of_the_api_is_reserved(partition: StorePartition) -> None:
    calls = (
        lambda: partition.add_host("@api"),
        lambda: partition.store.remove("@api"),
        lambda: partition.store.fence("@api", "token"),
        lambda: partition.store.audit("@api", 1, [], 0),
        lambda: partition.store.heartbeat("@api", "gantt-compute"),
        lambda: partition.store.name_hosts(1, ["@api"], complete=True),
    )
    for call in calls:
        with pytest.raises(errors.InvalidName, match="reserved for the providers of the Placement API"):
            call()
    assert partition.store.snapshot().services == {}


def test_one_of_many_writers_with_a_generation_succeeds(partition: StorePartition) -> None:
    make_pool(partition)
    outcomes: list[ProviderState | Refusal] = []

    def write(number: int) -> None:
        outcomes.append(partition.store.change_provider(SetInventories(POOL, {"DISK_GB": Inventory(number)}, 1)))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(1, 17)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    accepted = [state for state in outcomes if isinstance(state, ProviderState)]
    refusals = [refusal for refusal in outcomes if isinstance(refusal, Refusal)]
    assert (len(accepted), len(refusals)) == (1, 15)
    assert set(refusals) == {Refusal(RefusalKind.GENERATION, POOL, (), 1, 2)}
    assert partition.store.read_providers([POOL]) == {POOL: accepted[0]}


def test_every_writer_without_a_generation_succeeds(partition: StorePartition) -> None:
    change(partition, CreateProvider(POOL, "p"))

    def write(number: int) -> None:
        partition.store.change_provider(SetInventory(POOL, f"CUSTOM_{number}", Inventory(1), is_new=True))
        partition.store.change_provider(CreateProvider(f"@api/{number}", f"n{number}", POOL))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    state = partition.store.read_providers([POOL])[POOL]
    assert (len(state.document["inventories"]), state.generation, len(state.children)) == (16, 16, 16)
    partition.check()
