# SPDX-License-Identifier: Apache-2.0
"""Inventories that move to other providers together with what consumers hold from them."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Verdict
from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import Candidate, ClaimRef, Intent
from scheduler_svc.store.allocations import ANY, MAX_CONSUMERS, AllocationChange
from scheduler_svc.store.providers.changes import CreateProvider, Refusal, RefusalKind, SetInventories
from scheduler_svc.store.providers.reshaping import MAX_RESHAPED
from tests.support.clouds.replica import LogFollower
from tests.support.store.store_partition import SMALL, StorePartition

ROOT, CHILD = "@api/root", "@api/child"
VCPUS, DISK = Inventory(10), Inventory(2000, step_size=10)
OBSERVED = 20  # reads, and attempts to claim, beside reshapes


@pytest.fixture
def partition(make_partition: Any) -> StorePartition:
    """A root with processors and disk, of which c1 holds both, above a child with nothing; and host h1."""
    partition = make_partition()
    partition.add_host("h1")
    for provider, parent in ((ROOT, None), (CHILD, ROOT)):
        partition.store.change_provider(CreateProvider(provider, provider[5:], parent))
    partition.store.change_provider(SetInventories(ROOT, {"VCPU": VCPUS, "DISK_GB": DISK}))
    assert partition.store.allocate([put("c1", {ROOT: {"VCPU": 8, "DISK_GB": 100}}, None)]) is None
    return partition


def put(consumer: str, allocations: Any, generation: Any = ANY) -> AllocationChange:
    return AllocationChange(consumer, allocations, "p", "u", generation)


def have(provider: str, generation: int | None = None, **inventories: Inventory) -> SetInventories:
    return SetInventories(provider, inventories, generation)


# The processors of c1 go to the child.
MOVED = [have(ROOT, 2, DISK_GB=DISK), have(CHILD, 0, VCPU=VCPUS)]
HELD = put("c1", {ROOT: {"DISK_GB": 100}, CHILD: {"VCPU": 8}}, 1)


def shown(partition: StorePartition) -> Any:
    return partition.store.read_providers([ROOT, CHILD, "h1"]), partition.store.read_allocations(["c1", "c2"])


def reshaped(partition: StorePartition, inventories: Any, *changes: AllocationChange) -> None:
    """Reshape, and check all that can be recomputed."""
    assert partition.store.reshape(inventories, changes) is None
    partition.check()


def refused(partition: StorePartition, inventories: Any, *changes: AllocationChange) -> Refusal:
    """Return why a reshape is refused, which must change nothing."""
    before, states = partition.store.snapshot(), shown(partition)
    refusal = partition.store.reshape(inventories, changes)
    assert refusal is not None
    assert (partition.store.snapshot(), shown(partition)) == (before, states)
    return refusal


def generations(partition: StorePartition) -> tuple[int, int]:
    read = partition.store.read_generations([ROOT, CHILD])
    return read[ROOT], read[CHILD]


def inventories(partition: StorePartition, provider: str) -> set[str]:
    return set(partition.store.read_providers([provider])[provider].document["inventories"])


def test_inventory_moves_with_what_is_held_from_it(partition: StorePartition) -> None:
    replica = LogFollower(partition)
    reshaped(partition, MOVED, HELD)
    assert (inventories(partition, ROOT), inventories(partition, CHILD)) == ({"DISK_GB"}, {"VCPU"})
    assert (partition.used(ROOT), partition.used(CHILD)) == ({"DISK_GB": 100}, {"VCPU": 8})
    assert partition.store.read_allocations(["c1"])["c1"].generation == 2
    # One for the new inventories, one for what is held, one when the others are gone
    assert generations(partition) == (5, 3)
    replica.follow(limit=1)
    replica.check()
    # And back: the child gets no inventory, and nobody holds from it any more
    reshaped(
        partition,
        [have(ROOT, 5, VCPU=VCPUS, DISK_GB=DISK), have(CHILD, 3)],
        put("c1", {ROOT: {"VCPU": 8, "DISK_GB": 100}}, 2),
    )
    assert generations(partition) == (8, 4)
    assert (partition.used(ROOT), partition.used(CHILD)) == ({"DISK_GB": 100, "VCPU": 8}, {})
    replica.follow()
    replica.check()


def test_generations_do_not_pass_the_position(partition: StorePartition) -> None:
    partition.new_epoch()
    for _ in range(20):
        reshaped(partition, [have(ROOT, VCPU=VCPUS, DISK_GB=DISK)], put("c1", {ROOT: {"VCPU": 8}}))
    assert generations(partition)[0] <= partition.store.snapshot().position


def test_new_claims_are_judged_by_the_new_inventories(partition: StorePartition) -> None:
    reshaped(partition, MOVED, HELD)
    assert partition.store.allocate([put("c2", {ROOT: {"VCPU": 1}})]) == Refusal(
        RefusalKind.INVENTORY, ROOT, ("VCPU",), consumer="c2"
    )
    assert partition.store.allocate([put("c2", {CHILD: {"VCPU": 3}})]) == Refusal(
        RefusalKind.CAPACITY, CHILD, ("VCPU",), consumer="c2"
    )
    assert partition.store.allocate([put("c2", {CHILD: {"VCPU": 2}})]) is None


def test_inventory_that_shrank_after_a_decision_is_concurrent(partition: StorePartition) -> None:
    intent = Intent("c2", 1, [Candidate("h1", {ROOT: {"VCPU": 2}})])
    early = partition.batch(intent)
    reshaped(partition, [have(ROOT, VCPU=Inventory(9), DISK_GB=DISK)])
    assert tuple(partition.store.prepare(early).prepared[0].verdicts) == (Verdict.CONCURRENT,)
    assert tuple(partition.store.prepare(partition.batch(intent)).prepared[0].verdicts) == (Verdict.FULL,)


def test_inventory_that_stays_in_use_is_not_removed(partition: StorePartition) -> None:
    expected = Refusal(RefusalKind.IN_USE, ROOT, ("DISK_GB", "VCPU"))
    assert refused(partition, [have(CHILD, VCPU=VCPUS), have(ROOT)]) == expected
    # Nor one that another consumer takes into use by the same call
    assert refused(partition, MOVED, HELD, put("c2", {ROOT: {"VCPU": 1}})).kind is RefusalKind.IN_USE


@pytest.mark.parametrize(
    ("inventories", "expected"),
    [
        ([have("@api/gone", VCPU=VCPUS)], Refusal(RefusalKind.PROVIDER, "@api/gone")),
        ([have("h1", VCPU=VCPUS)], Refusal(RefusalKind.OWNER, "h1")),
        ([have(CHILD, 1, VCPU=VCPUS)], Refusal(RefusalKind.GENERATION, CHILD, (), 1, 0)),
    ],
)
def test_other_providers_and_generations_are_refused(
    partition: StorePartition, inventories: Any, expected: Refusal
) -> None:
    assert refused(partition, [have(ROOT, 2, VCPU=VCPUS, DISK_GB=DISK), *inventories], HELD) == expected


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (put("c1", {ROOT: {"DISK_GB": 100}, CHILD: {"VCPU": 8}}, 7), RefusalKind.CONSUMER),
        (put("c1", {ROOT: {"DISK_GB": 105}, CHILD: {"VCPU": 8}}), RefusalKind.UNITS),
        (put("c1", {ROOT: {"DISK_GB": 100}, CHILD: {"VCPU": 11}}), RefusalKind.CAPACITY),
        (put("c1", {CHILD: {"DISK_GB": 100, "VCPU": 8}}), RefusalKind.INVENTORY),
        (put("c1", {"@api/gone": {"VCPU": 8}}), RefusalKind.PROVIDER),
    ],
)
def test_refused_allocation_leaves_inventories_as_they_were(
    partition: StorePartition, change: AllocationChange, kind: RefusalKind
) -> None:
    refusal = refused(partition, MOVED, change)
    assert (refusal.kind, refusal.consumer) == (kind, "c1")


def test_names_that_may_have_been_taken_into_use_are_not_retired(make_partition: Any) -> None:
    partition = make_partition(namespaces=["resource_class"])
    partition.store.change_provider(CreateProvider(ROOT, "root"))
    position = partition.store.snapshot().position
    reshaped(partition, [have(ROOT, CUSTOM_A=VCPUS)])
    refusal = partition.store.retire("resource_class", "CUSTOM_A", position)
    assert refusal is not None and refusal.kind is RefusalKind.BEHIND


def test_claim_of_an_agent_is_not_replaced(partition: StorePartition) -> None:
    partition.hold("c2", "h1")
    refusal = refused(partition, MOVED, HELD, put("c2", {CHILD: {"VCPU": 1}}))
    assert refusal == Refusal(RefusalKind.OWNER, "", consumer="c2")


def test_guest_of_an_agent_keeps_what_it_uses(partition: StorePartition) -> None:
    """The processors of a device below a host go to another one; a guest of the host's agent uses some."""
    for name in ("device", "other"):
        partition.store.change_provider(CreateProvider(f"@api/{name}", name, "h1"))
    partition.store.change_provider(SetInventories("@api/device", {"VGPU": Inventory(2)}))
    allocations = {"h1": SMALL, "@api/device": {"VGPU": 1}}
    partition.store.prepare(partition.batch(Intent("c2", 1, [Candidate("h1", allocations)])))
    partition.store.confirm("h1", [ClaimRef("c2", 1)])
    generation = partition.store.read_allocations(["c2"])["c2"].generation
    moved = {"h1": SMALL, "@api/other": {"VGPU": 1}}
    inventories = [have("@api/device"), have("@api/other", VGPU=Inventory(2))]
    refusal = refused(partition, inventories, put("c2", moved, generation))
    assert refusal == Refusal(RefusalKind.GUEST, "@api/device", ("VGPU",), consumer="c2")
    more = {"@api/other": {"VGPU": 1}, **allocations}
    reshaped(partition, [have("@api/other", VGPU=Inventory(2))], put("c2", more, generation))
    assert partition.used("@api/other") == partition.used("@api/device") == {"VGPU": 1}


def test_capacity_may_be_less_than_is_held_and_is_flagged(partition: StorePartition) -> None:
    reshaped(partition, [have(ROOT, VCPU=Inventory(4), DISK_GB=DISK)])
    (row,) = partition.check().excess
    assert (row["used"], row["capacity"]) == (8, 4)
    assert refused(partition, [have(ROOT, VCPU=Inventory(5), DISK_GB=DISK)], put("c2", {ROOT: {"VCPU": 1}})).kind is (
        RefusalKind.CAPACITY
    )


def test_providers_below_a_host_are_reshaped(partition: StorePartition) -> None:
    partition.store.change_provider(CreateProvider("@api/device", "device", "h1"))
    replica = LogFollower(partition)
    reshaped(partition, [have("@api/device", 0, VGPU=Inventory(2))], put("c2", {"@api/device": {"VGPU": 2}}, None))
    assert partition.used("@api/device") == {"VGPU": 2}
    # A report of the host leaves them as they are
    partition.add_host("h1")
    assert inventories(partition, "@api/device") == {"VGPU"}
    replica.follow()
    replica.check()


@pytest.mark.parametrize(
    ("inventories", "changes"),
    [
        ([], [HELD]),
        ([have(ROOT), have(ROOT)], []),
        ([have(ROOT, -1)], []),
        ([have(ROOT, vcpu=VCPUS)], []),
        (MOVED, [put("c1", {}), put("c1", {})]),
        ([have(f"@api/{number}") for number in range(MAX_RESHAPED + 1)], []),
        (MOVED, [put(f"c{number}", {}) for number in range(MAX_CONSUMERS + 1)]),
    ],
)
def test_malformed_calls_are_rejected(partition: StorePartition, inventories: Any, changes: Any) -> None:
    before = partition.store.snapshot()
    with pytest.raises((errors.InvalidRequest, errors.InvalidName)):
        partition.store.reshape(inventories, changes)
    assert partition.store.snapshot() == before


def test_the_largest_call_is_made(partition: StorePartition) -> None:
    moves = [have(ROOT, VCPU=Inventory(2000), DISK_GB=DISK)]
    consumers = [put(f"n{number}", {ROOT: {"VCPU": 1}}, None) for number in range(MAX_CONSUMERS)]
    reshaped(partition, moves, *consumers)
    assert partition.used(ROOT)["VCPU"] == MAX_CONSUMERS + 8


def test_readers_and_writers_see_all_of_it_or_nothing(partition: StorePartition) -> None:
    places = (ROOT, CHILD)
    filled: list[set[str]] = []  # the places that hold something, as each read shows them
    attempts: list[Refusal | None] = []
    is_over = threading.Event()

    def move(at: str, other: str) -> None:
        refusal = partition.store.reshape([have(at, VCPU=VCPUS), have(other)], [put("c1", {at: {"VCPU": 8}})])
        assert refusal is None, refusal

    def read() -> None:
        while not is_over.is_set():
            states = partition.store.read_providers(places)
            filled.append({name for name in places if states[name].used.get("VCPU")})

    def claim(number: int) -> None:
        while not is_over.is_set():
            attempts.extend(partition.store.allocate([put(f"n{number}", {place: {"VCPU": 3}})]) for place in places)

    assert partition.store.allocate([put("c1", {ROOT: {"VCPU": 8}})]) is None
    with ThreadPoolExecutor(3) as pool:
        runs = [pool.submit(read), *(pool.submit(claim, number) for number in range(2))]
        try:
            # Moves go on until the others have done their part, or one of them has failed
            while min(len(filled), len(attempts)) < OBSERVED and not any(run.done() for run in runs):
                move(CHILD, ROOT)
                move(ROOT, CHILD)
        finally:
            is_over.set()
    for run in runs:
        run.result()
    assert all(len(names) == 1 for names in filled)
    assert None not in attempts  # at no moment were there three processors free
    assert list(partition.check().excess) == []
