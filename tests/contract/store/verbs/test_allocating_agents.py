# SPDX-License-Identifier: Apache-2.0
"""Clients of the Placement API add to what a compute agent's confirmed claim holds, and take nothing from its guest."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from rpcapi.resources.claims import Answer, GroupPolicy
from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import ClaimGroup, ClaimRef
from scheduler_svc.store.allocations import ANY, AllocationChange
from scheduler_svc.store.providers.changes import CreateProvider, Refusal, RefusalKind, SetInventories
from tests.support.store.store_partition import ROOMY, SMALL, StorePartition, running

POOL = "@api/pool"
GUEST = {"h1": SMALL}  # what the guest of c1 uses
OWNER: Mapping[str, Any] = {"project": "of the client", "user": "another"}


@pytest.fixture
def partition(make_partition: Any) -> StorePartition:
    """A partition with host h1, and a pool of the Placement API with 8 GB."""
    partition = make_partition()
    partition.add_host("h1")
    partition.store.change_provider(CreateProvider(POOL, "pool"))
    partition.store.change_provider(SetInventories(POOL, {"DISK_GB": Inventory(8)}))
    return partition


def disk(amount: int) -> dict[str, dict[str, int]]:
    return {POOL: {"DISK_GB": amount}}


def guest_and(allocations: Mapping[str, Mapping[str, int]]) -> dict[str, Mapping[str, int]]:
    """Return what the guest of c1 uses, with these allocations added."""
    return {**GUEST, **allocations}


def audit(partition: StorePartition, *refs: ClaimRef, host: str = "h1", amounts: Mapping[str, int] = SMALL) -> Any:
    """Audit a host on which these claims run with these amounts each."""
    claims = [running(ref, host, amounts=amounts) for ref in refs]
    return partition.store.audit(host, partition.store.snapshot().epoch, claims, 0)


def put(consumer: str, allocations: Any, generation: Any = ANY, **options: Any) -> AllocationChange:
    return AllocationChange(consumer, allocations, generation=generation, **{**OWNER, **options})


def generation_of(partition: StorePartition, consumer: str) -> int:
    return partition.store.read_allocations([consumer])[consumer].generation


def accepted(partition: StorePartition, *changes: AllocationChange) -> None:
    """Apply changes together, and check all that can be recomputed."""
    assert partition.store.allocate(changes) is None
    partition.check()


def refused(partition: StorePartition, *changes: AllocationChange) -> Refusal:
    """Return why changes are refused together, which must change nothing."""
    before, claims = partition.store.snapshot(), partition.store.claims()
    refusal = partition.store.allocate(changes)
    assert refusal is not None
    assert (partition.store.snapshot(), partition.store.claims()) == (before, claims)
    return refusal


def test_claim_of_an_agent_is_not_ended_nor_replaced_unread(partition: StorePartition) -> None:
    ref = partition.hold("c1", "h1")
    generation = generation_of(partition, "c1")
    for change in (put("c1", disk(2)), put("c1", {}), put("c1", {}, generation), put("c1", {}, is_deletion=True)):
        assert refused(partition, change) == Refusal(RefusalKind.OWNER, "", consumer="c1")
    for stale in (None, generation - 1):
        expected = Refusal(RefusalKind.CONSUMER, "", (), stale, generation, "c1")
        assert refused(partition, put("c1", disk(2), stale)) == expected
    assert refused(partition, put("c1", {"h1": {**SMALL, "VCPU": 99}}, generation)).kind is RefusalKind.CAPACITY
    partition.store.release("h1", [ref])
    accepted(partition, put("c1", disk(2), None))


def test_prepared_claim_is_not_replaced(partition: StorePartition) -> None:
    partition.prepare("c1", "h1")
    generation = generation_of(partition, "c1")
    change = put("c1", guest_and(disk(2)), generation)
    assert refused(partition, change) == Refusal(RefusalKind.OWNER, "", consumer="c1")
    partition.store.confirm("h1", [ClaimRef("c1", 1)])
    assert refused(partition, change).kind is RefusalKind.CONSUMER  # confirming is a change
    accepted(partition, replace(change, generation=generation + 1))


def test_confirmed_claim_that_a_client_adds_to_stays_the_agents(partition: StorePartition) -> None:
    ref = partition.hold("c1", "h1", request_id="r1")
    (before,) = partition.store.claims(host="h1")[0]
    allocations = {"h1": {**SMALL, "VCPU": 2}, **disk(4)}
    accepted(partition, put("c1", allocations, before.generation))
    (after,) = partition.store.claims(host="h1")[0]
    changed: dict[str, Any] = {"generation": before.generation + 1, "allocations": allocations, "reported": GUEST}
    assert after == replace(before, **changed, **OWNER)
    assert (partition.used("h1")["VCPU"], partition.used(POOL)) == (2, {"DISK_GB": 4})
    assert [state.consumer for state in partition.store.list_holders(POOL)[0]] == ["c1"]
    outcome = audit(partition, ref)
    assert [result.answer for result in outcome.answers] == [Answer.CONFIRMED]
    assert (outcome.reasserted, outcome.released, outcome.orphans) == (0, 0, 0)
    assert partition.store.claims(host="h1")[0] == [after]
    assert partition.store.release("h1", [ref])[0].answer is Answer.RELEASED
    partition.check()
    assert partition.used(POOL) == {} and partition.store.read_allocations(["c1"]) == {}


@pytest.mark.parametrize(
    ("allocations", "classes"),
    [
        (disk(2), ("MEMORY_MB", "VCPU")),
        ({"h2": SMALL}, ("MEMORY_MB", "VCPU")),
        ({"h1": {"VCPU": 4}}, ("MEMORY_MB",)),
        ({"h1": {**SMALL, "MEMORY_MB": 63}, **disk(2)}, ("MEMORY_MB",)),
        ({"h1": {"MEMORY_MB": 64}, "h2": {"VCPU": 1}}, ("VCPU",)),
    ],
    ids=["elsewhere", "on another host", "less of a class", "less and more", "partly elsewhere"],
)
@pytest.mark.parametrize("is_audited", [False, True])
@pytest.mark.parametrize("is_raised", [False, True])
def test_client_takes_nothing_from_under_a_guest(
    partition: StorePartition, allocations: Any, classes: tuple[str, ...], is_audited: bool, is_raised: bool
) -> None:
    partition.add_host("h2")
    ref = partition.hold("c1", "h1")
    if is_raised:
        accepted(partition, put("c1", {"h1": ROOMY, **disk(4)}, generation_of(partition, "c1")))
    if is_audited:
        audit(partition, ref)
    refusal = refused(partition, put("c1", allocations, generation_of(partition, "c1")))
    assert refusal == Refusal(RefusalKind.GUEST, "h1", classes, consumer="c1")
    partition.check()


@pytest.mark.parametrize("consumer_type", ["MIGRATION", "VM", ""])
def test_claim_of_an_agent_keeps_its_type(partition: StorePartition, consumer_type: str) -> None:
    """As a migration's, the claim would leave its affinity group, and a repair would end its guest as leaked."""
    partition.hold("c1", "h1")
    generation = generation_of(partition, "c1")
    refusal = refused(partition, put("c1", GUEST, generation, type=consumer_type))
    assert refusal == Refusal(RefusalKind.OWNER, "", consumer="c1")
    accepted(partition, put("c1", GUEST, generation, type="INSTANCE"))
    assert partition.store.read_allocations(["c1"])["c1"].type == "INSTANCE"


def test_client_takes_back_what_it_added(partition: StorePartition) -> None:
    ref = partition.hold("c1", "h1")
    for amount in (4, 6, 2):
        accepted(partition, put("c1", guest_and(disk(amount)), generation_of(partition, "c1")))
        audit(partition, ref)
        assert partition.used(POOL) == {"DISK_GB": amount}
    accepted(partition, put("c1", GUEST, generation_of(partition, "c1")))
    (claim,) = partition.store.claims()[0]
    assert (claim.allocations, claim.reported, partition.used(POOL)) == (GUEST, None, {})


def test_equal_allocations_are_accepted(partition: StorePartition) -> None:
    partition.hold("c1", "h1")
    generation = generation_of(partition, "c1")
    accepted(partition, put("c1", GUEST, generation))
    assert partition.used("h1") == SMALL and generation_of(partition, "c1") == generation + 1


def test_request_that_lowers_one_guest_changes_none_of_many_consumers(partition: StorePartition) -> None:
    partition.hold("c1", "h1")
    others = [put(f"n{number}", {"h1": {"VCPU": 1}} if number < 2 else disk(1), None) for number in range(7)]
    many = [put(f"e{number}", {}, None) for number in range(120)]
    lowering = put("c1", disk(1), generation_of(partition, "c1"))
    for changes in ((lowering, *others), (*others, lowering), (*many, *others, lowering)):
        assert refused(partition, *changes) == Refusal(RefusalKind.GUEST, "h1", ("MEMORY_MB", "VCPU"), consumer="c1")
    accepted(partition, *many, *others, put("c1", guest_and(disk(1)), generation_of(partition, "c1")))
    assert partition.used(POOL) == {"DISK_GB": 6}


def test_running_instance_of_an_agent_is_not_moved_as_nova_moves_its_own(partition: StorePartition) -> None:
    """Nova gives what an instance holds to its migration; the guest of an agent stays under the instance's claim."""
    partition.add_host("h2")
    partition.hold("c1", "h1")
    generation = generation_of(partition, "c1")
    swap = (put("m1", GUEST, None, type="MIGRATION"), put("c1", {"h2": {"VCPU": 2}}, generation))
    assert refused(partition, *swap).kind is RefusalKind.GUEST
    assert refused(partition, *reversed(swap)).kind is RefusalKind.GUEST


def test_instance_of_a_client_moves_as_nova_moves_it(partition: StorePartition) -> None:
    """One request gives what the instance holds to its migration, and the instance holds from the destination."""
    partition.add_host("h2")
    accepted(partition, put("c1", GUEST, None, type="INSTANCE"))
    destination = {"h2": {"VCPU": 2}}
    accepted(
        partition,
        put("m1", GUEST, None, type="MIGRATION"),
        put("c1", destination, generation_of(partition, "c1")),
    )
    shown = partition.store.read_allocations(["c1", "m1"])
    assert (shown["m1"].allocations, shown["c1"].allocations) == (GUEST, destination)
    audit(partition)
    audit(partition, host="h2")
    assert partition.store.read_allocations(["c1", "m1"]) == shown
    # The move is reverted
    accepted(partition, put("m1", {}), put("c1", GUEST, shown["c1"].generation))
    assert partition.used("h1") == SMALL and partition.used("h2") == {}


def test_claim_that_its_host_does_not_run_ends_with_what_a_client_added(partition: StorePartition) -> None:
    partition.hold("c1", "h1")
    accepted(partition, put("c1", guest_and(disk(4)), generation_of(partition, "c1")))
    assert audit(partition).released == 1
    assert partition.store.read_allocations(["c1"]) == {} and partition.used(POOL) == {}
    partition.check()


def test_claim_that_a_client_adds_to_keeps_its_place_in_a_group(partition: StorePartition) -> None:
    group = ClaimGroup("g1", GroupPolicy.ANTI_AFFINITY)
    partition.prepare("c1", "h1", group=group)
    partition.store.confirm("h1", [ClaimRef("c1", 1)])
    accepted(partition, put("c1", guest_and(disk(2)), generation_of(partition, "c1")))
    assert partition.prepare("c2", "h1", group=group).answer is Answer.REFUSED
    partition.check()


def test_clients_do_not_change_the_source_of_a_move(partition: StorePartition) -> None:
    """Given the claim of a migration that gantt runs, with what a client had added before."""
    ref = partition.hold("c1", "h1")
    accepted(partition, put("c1", guest_and(disk(4)), generation_of(partition, "c1")))
    assert partition.store.begin_moves([ref], ["m1"])[0].answer is Answer.CONFIRMED
    for amounts in (GUEST, guest_and(disk(4)), guest_and(disk(6)), disk(4), {}):
        change = put("m1", amounts, generation_of(partition, "m1"))
        assert refused(partition, change) == Refusal(RefusalKind.OWNER, "", consumer="m1")


def test_parallel_requests_and_audits_leave_the_guest_what_it_uses(partition: StorePartition) -> None:
    ref = partition.hold("c1", "h1")
    requests = [guest_and(disk(2)), disk(2), GUEST, {"h1": {"VCPU": 1}}]

    def work(number: int) -> None:
        for turn in range(12):
            if turn % 4 == number % 4:
                audit(partition, ref)
            change = put("c1", requests[(number + turn) % 4], generation_of(partition, "c1"))
            refusal = partition.store.allocate([change])
            is_enough = change.allocations.get("h1") == SMALL
            assert refusal is not None or is_enough
            if refusal is not None and not is_enough:
                assert refusal.kind in (RefusalKind.GUEST, RefusalKind.CONSUMER)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert refused(partition, put("c1", disk(2), generation_of(partition, "c1"))).kind is RefusalKind.GUEST
    assert partition.used("h1") == SMALL
    partition.check()
