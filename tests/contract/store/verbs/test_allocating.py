# SPDX-License-Identifier: Apache-2.0
"""Allocations that clients of the Placement API replace, beside the claims of the scheduler."""

import itertools
import threading
from typing import Any

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer
from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import Candidate, ClaimRef, Intent
from scheduler_svc.store.allocations import ANY, MAX_CONSUMERS, AllocationChange, is_api_claim
from scheduler_svc.store.providers.changes import (
    DeleteProvider,
    ProviderState,
    Refusal,
    RefusalKind,
    SetInventories,
)
from tests.contract.store.verbs.pool_allocations import POOL, accepted, disk, partition_with_pool, put
from tests.support.clouds.replica import LogFollower
from tests.support.store.store_partition import LONG_MS, StorePartition, running


@pytest.fixture
def partition(make_partition: Any) -> StorePartition:
    return partition_with_pool(make_partition)


def refused(partition: StorePartition, *changes: AllocationChange) -> Refusal:
    """Return why changes are refused, which must change nothing."""
    before, consumers = partition.store.snapshot(), [change.consumer for change in changes]
    states = partition.store.read_allocations(consumers)
    refusal = partition.store.allocate(changes)
    assert refusal is not None
    assert partition.store.snapshot() == before
    assert partition.store.read_allocations(consumers) == states
    return refusal


def generations(partition: StorePartition) -> tuple[int, int]:
    read = partition.store.read_generations([POOL, "h1"])
    return read[POOL], read["h1"]


def test_allocations_are_read_as_they_were_put(partition: StorePartition) -> None:
    replica = LogFollower(partition)
    accepted(partition, put("c1", {**disk(2), "h1": {"VCPU": 1}}, None, type="INSTANCE"))
    state = partition.store.read_allocations(["c1", "c2"])["c1"]
    assert state.allocations == {**disk(2), "h1": {"VCPU": 1}}
    assert (state.generation, state.project, state.user, state.type) == (1, "p", "u", "INSTANCE")
    assert is_api_claim(state)
    assert partition.store.read_allocations(["c2"]) == {} == partition.store.read_allocations([])
    assert (partition.used(POOL), partition.used("h1")) == ({"DISK_GB": 2}, {"VCPU": 1})
    replica.follow()
    replica.check()


@pytest.mark.parametrize("providers", [(POOL, "h1"), ("h1", POOL)])
def test_providers_are_read_in_the_order_in_which_they_were_put(
    partition: StorePartition, providers: tuple[str, str]
) -> None:
    allocations = {**disk(2), "h1": {"VCPU": 1}}
    accepted(partition, put("c1", {provider: allocations[provider] for provider in providers}, None))
    assert tuple(partition.store.read_allocations(["c1"])["c1"].allocations) == providers


def test_put_replaces_all_that_the_consumer_held(partition: StorePartition) -> None:
    accepted(partition, put("c1", {**disk(6), "h1": {"VCPU": 1}}, None, type="A"))
    change = AllocationChange("c1", disk(4), "p2", "u2", 1)
    accepted(partition, change)
    state = partition.store.read_allocations(["c1"])["c1"]
    assert (state.allocations, state.generation, state.project, state.user, state.type) == (disk(4), 2, "p2", "u2", "A")
    assert (partition.used(POOL), partition.used("h1")) == ({"DISK_GB": 4}, {})
    accepted(partition, put("c1", disk(4), 2, type=""))
    assert partition.store.read_allocations(["c1"])["c1"].type == ""
    accepted(partition, put("c1", {}, 3))
    assert partition.store.read_allocations(["c1"]) == {} and partition.used(POOL) == {}
    accepted(partition, put("c1", disk(2), None))
    assert partition.store.read_allocations(["c1"])["c1"].generation == 1


@pytest.mark.parametrize(
    ("generation", "exists", "actual"),
    [(None, True, 1), (0, True, 1), (2, True, 1), (0, False, None), (1, False, None)],
)
def test_other_generation_of_the_consumer_is_refused(
    partition: StorePartition, generation: int | None, exists: bool, actual: int | None
) -> None:
    if exists:
        accepted(partition, put("c1", disk(2), None))
    expected = Refusal(RefusalKind.CONSUMER, "", (), generation, actual, "c1")
    assert refused(partition, put("c2", disk(2), None), put("c1", disk(2), generation)) == expected


@pytest.mark.parametrize(
    ("allocations", "kind", "provider", "classes"),
    [
        ({**disk(2), "@api/gone": {"VCPU": 1}}, RefusalKind.PROVIDER, "@api/gone", ()),
        ({**disk(2), "h1": {"PCPU": 1}}, RefusalKind.INVENTORY, "h1", ("PCPU",)),
        ({POOL: {"VCPU": 1}}, RefusalKind.INVENTORY, POOL, ("VCPU",)),
        (disk(3), RefusalKind.UNITS, POOL, ("DISK_GB",)),
        (disk(8), RefusalKind.UNITS, POOL, ("DISK_GB",)),
        ({**disk(2), "h1": {"VCPU": 5}}, RefusalKind.CAPACITY, "h1", ("VCPU",)),
        ({**disk(6), "h1": {"VCPU": 1}}, RefusalKind.CAPACITY, POOL, ("DISK_GB",)),
    ],
)
def test_amounts_that_cannot_be_held_are_refused_together(
    partition: StorePartition, allocations: Any, kind: RefusalKind, provider: str, classes: tuple[str, ...]
) -> None:
    accepted(partition, put("c1", disk(4)))
    refusal = refused(partition, put("c3", allocations), put("c2", {"h1": {"VCPU": 1}}), put("c1", disk(4)))
    assert refusal == Refusal(kind, provider, classes, consumer="c3")


def test_what_is_freed_in_the_same_call_can_be_held(partition: StorePartition) -> None:
    accepted(partition, put("c1", disk(6)), put("c2", disk(2)))
    assert refused(partition, put("c3", disk(6))).kind is RefusalKind.CAPACITY
    # an instance's allocations go to its migration, in one call
    accepted(partition, put("c3", disk(6), None), put("c1", {}, 1))
    assert set(partition.store.read_allocations(["c1", "c2", "c3"])) == {"c2", "c3"}


def test_oversold_sum_may_shrink_and_stay_but_not_grow(partition: StorePartition) -> None:
    accepted(partition, put("c1", disk(6)), put("c2", disk(2)))
    partition.store.change_provider(SetInventories(POOL, {"DISK_GB": Inventory(3)}))
    accepted(partition, put("c1", disk(6)))
    accepted(partition, put("c1", disk(5)))
    assert refused(partition, put("c1", disk(6))).kind is RefusalKind.CAPACITY
    accepted(partition, put("c1", disk(3)), put("c2", disk(4)))  # the sum is the same
    assert refused(partition, put("c1", disk(3)), put("c2", disk(5))).kind is RefusalKind.CAPACITY


def test_generations_of_named_providers_are_increased_once_a_call(partition: StorePartition) -> None:
    assert generations(partition) == (1, 0)
    accepted(partition, put("c1", {**disk(2), "h1": {"VCPU": 1}}), put("c2", disk(2)))
    assert generations(partition) == (2, 1)
    accepted(partition, put("c1", disk(2)))  # what is replaced does not count
    assert generations(partition) == (3, 1)
    accepted(partition, put("c2", {}))  # but what is given up by an empty one does
    assert generations(partition) == (4, 1)
    accepted(partition, put("c1", {}, is_deletion=True))
    accepted(partition, put("c1", {}))
    assert generations(partition) == (4, 1)


def test_claims_of_both_owners_share_the_capacity(partition: StorePartition) -> None:
    accepted(partition, put("c1", {"h1": {"VCPU": 3}}))
    assert partition.prepare("c2", "h1").answer is Answer.PREPARED
    assert partition.prepare("c3", "h1").answer is Answer.REFUSED
    assert refused(partition, put("c4", {"h1": {"VCPU": 1}})).kind is RefusalKind.CAPACITY
    shown = partition.store.read_allocations(["c2"])["c2"]
    assert (is_api_claim(shown), shown.allocations) == (False, {"h1": {"VCPU": 1, "MEMORY_MB": 64}})
    accepted(partition, put("c1", {}))
    assert partition.prepare("c3", "h1").answer is Answer.PREPARED


def test_expired_claim_holds_nothing(partition: StorePartition) -> None:
    partition.prepare("c1", "h1")
    partition.prepare("c2", "h1", resources={"VCPU": 3})
    for consumer in ("c1", "c2"):
        partition.pass_deadline_of(consumer)
    assert partition.store.read_allocations(["c1"]) == {}
    accepted(partition, put("c1", {"h1": {"VCPU": 4}}, None))


def test_verbs_of_agents_and_conductors_leave_the_apis_claims(partition: StorePartition) -> None:
    accepted(partition, put("c1", {"h1": {"VCPU": 2}}))
    store, epoch = partition.store, partition.store.snapshot().epoch
    ref = ClaimRef("c1", 1)
    assert store.confirm("h1", [ref])[0].answer is Answer.FOREIGN
    assert store.release("h1", [ref])[0].answer is Answer.FOREIGN
    assert store.abort([ref], "h1")[0].answer is Answer.FOREIGN
    assert store.abort([ref])[0].answer is Answer.CONFIRMED
    assert store.begin_moves([ref], ["c2"])[0].answer is Answer.FOREIGN
    for attempt, replaces in ((1, None), (2, 1), (2, None)):
        assert partition.prepare("c1", "h1", attempt=attempt, replaces=replaces).answer is Answer.CONFLICT
    assert store.audit("h1", epoch, [], 0).released == 0
    assert store.audit("h1", epoch, [running(ref, "h1")], 0).answers[0].answer is Answer.UNVERIFIED
    assert refused(partition, put("c1", disk(2))).kind is RefusalKind.OWNER
    store.audit("h1", epoch, [], 0)
    assert partition.fence("h1") == 0
    assert partition.store.read_allocations(["c1"])["c1"].allocations == {"h1": {"VCPU": 2}}
    with pytest.raises(errors.Conflict):
        store.remove("h1")
    store.reap(dead_after_ms=None, tombstone_ms=LONG_MS)
    accepted(partition, put("c1", {}))
    store.remove("h1")


def test_new_epoch_keeps_claims_and_waits_for_the_audit_of_an_agents_provider(partition: StorePartition) -> None:
    accepted(partition, put("c1", {**disk(2), "h1": {"VCPU": 2}}))
    epoch = partition.new_epoch()
    change = put("c2", {"h1": {"VCPU": 1}})
    assert refused(partition, change) == Refusal(RefusalKind.CLOSED, "h1", ("VCPU",), consumer="c2")
    accepted(partition, put("c1", {**disk(4), "h1": {"VCPU": 2}}))  # nothing more of the agent's
    partition.store.audit("h1", epoch, [], 0)
    accepted(partition, change)
    assert partition.store.read_allocations(["c1"])["c1"].allocations["h1"] == {"VCPU": 2}


def test_generation_of_a_consumer_never_repeats_after_the_store_forgot(partition: StorePartition) -> None:
    accepted(partition, put("c1", disk(2), None))
    mark, shown = partition.mark(), [1]
    for _ in range(2):
        for amount in (4, 6, 2):
            accepted(partition, put("c1", disk(amount), shown[-1]))
            shown.append(partition.store.read_allocations(["c1"])["c1"].generation)
        partition.forget_since(mark)
        assert refused(partition, put("c1", disk(2), shown[-1])).kind is RefusalKind.CONSUMER
        shown.append(partition.store.read_allocations(["c1"])["c1"].generation)
    assert shown == sorted(set(shown))


def test_provider_in_use_by_an_allocation_is_not_deleted(partition: StorePartition) -> None:
    accepted(partition, put("c1", disk(2)))
    assert partition.store.change_provider(DeleteProvider(POOL)) == Refusal(RefusalKind.IN_USE, POOL, ["DISK_GB"])
    accepted(partition, put("c1", {}, is_deletion=True))
    assert isinstance(partition.store.change_provider(DeleteProvider(POOL)), ProviderState)


@pytest.mark.parametrize(
    "changes",
    [
        [],
        [put("c1", disk(2)), put("c1", {})],
        [put("c 1", {})],
        [put("c1", disk(0))],
        [put("c1", {POOL: {}})],
        [put("c1", {}, -1)],
        [put("c1", {}, type="x" * 300)],
        [AllocationChange("c1", {}, "p\0", "u", ANY)],
        [put(f"c{number}", {}) for number in range(MAX_CONSUMERS + 1)],
    ],
)
def test_malformed_changes_are_rejected(partition: StorePartition, changes: list[AllocationChange]) -> None:
    before = partition.store.snapshot()
    with pytest.raises((errors.InvalidRequest, errors.InvalidName)):
        partition.store.allocate(changes)
    assert partition.store.snapshot() == before


def test_writers_of_both_owners_never_exceed_the_capacity(partition: StorePartition) -> None:
    partition.store.change_provider(SetInventories(POOL, {"DISK_GB": Inventory(16)}))
    numbers = itertools.count()
    outcomes: list[bool] = []

    def write(by_api: bool) -> None:
        for _ in range(4):
            consumer = f"c{next(numbers)}"
            if by_api:
                outcomes.append(partition.store.allocate([put(consumer, disk(1), None)]) is None)
                continue
            batch = partition.batch(Intent(consumer, 1, [Candidate("h1", disk(1))]), resources={})
            outcomes.append(partition.store.prepare(batch).accepted)

    threads = [threading.Thread(target=write, args=(number % 2 == 0,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(outcomes), sum(outcomes)) == (64, 16)
    assert partition.used(POOL) == {"DISK_GB": 16}
    assert list(partition.check().excess) == []
