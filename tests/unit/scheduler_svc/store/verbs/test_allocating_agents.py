# SPDX-License-Identifier: Apache-2.0
"""Clients of the Placement API replace what a claim holds that a compute agent has confirmed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from rpcapi.resources.claims import Answer, GroupPolicy
from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import ClaimGroup, ClaimRef
from scheduler_svc.store.allocations import ANY, AllocationChange
from scheduler_svc.store.providers.changes import CreateProvider, Refusal, RefusalKind, SetInventories
from tests.unit.scheduler_svc.store.store_partition import StorePartition, running

POOL = "@api/pool"
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


def put(consumer: str, allocations: Any, generation: Any = ANY, **options: Any) -> AllocationChange:
    return AllocationChange(consumer, allocations, generation=generation, **{**OWNER, **options})


def generation_of(partition: StorePartition, consumer: str) -> int:
    return partition.store.read_allocations([consumer])[consumer].generation


def accepted(partition: StorePartition, *changes: AllocationChange) -> None:
    """Apply changes together, and check all that can be recomputed."""
    assert partition.store.allocate(changes) is None
    partition.check()


def refused(partition: StorePartition, change: AllocationChange) -> Refusal:
    """Return why a change is refused, which must change nothing."""
    before, claims = partition.store.snapshot(), partition.store.claims()
    refusal = partition.store.allocate([change])
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
    assert refused(partition, put("c1", {"h1": {"VCPU": 99}}, generation)).kind is RefusalKind.CAPACITY
    partition.store.release("h1", [ref])
    accepted(partition, put("c1", disk(2), None))


def test_prepared_claim_is_not_replaced(partition: StorePartition) -> None:
    partition.prepare("c1", "h1")
    generation = generation_of(partition, "c1")
    change = put("c1", disk(2), generation)
    assert refused(partition, change) == Refusal(RefusalKind.OWNER, "", consumer="c1")
    partition.store.confirm("h1", [ClaimRef("c1", 1)])
    assert refused(partition, change).kind is RefusalKind.CONSUMER  # confirming is a change
    accepted(partition, put("c1", disk(2), generation + 1))


def test_confirmed_claim_of_an_agent_that_is_replaced_stays_the_agents(partition: StorePartition) -> None:
    ref = partition.hold("c1", "h1", request_id="r1")
    (before,) = partition.store.claims(host="h1")[0]
    allocations = {"h1": {"VCPU": 1}, **disk(4)}
    accepted(partition, put("c1", allocations, before.generation, type="VM"))
    (after,) = partition.store.claims(host="h1")[0]
    assert after == replace(before, generation=before.generation + 1, allocations=allocations, type="VM", **OWNER)
    assert (partition.used("h1")["VCPU"], partition.used(POOL)) == (1, {"DISK_GB": 4})
    assert [state.consumer for state in partition.store.list_holders(POOL)[0]] == ["c1"]
    outcome = partition.store.audit("h1", partition.store.snapshot().epoch, [running(ref, "h1")], 0)
    assert [result.answer for result in outcome.answers] == [Answer.CONFIRMED]
    assert (outcome.reasserted, outcome.released, outcome.orphans) == (0, 0, 0)
    assert partition.store.claims(host="h1")[0] == [after]
    assert partition.store.release("h1", [ref])[0].answer is Answer.RELEASED
    partition.check()
    assert partition.used(POOL) == {} and partition.store.read_allocations(["c1"]) == {}


def test_instance_of_an_agent_moves_as_nova_moves_it(partition: StorePartition) -> None:
    """One request gives what the instance holds to its migration, and the instance holds from the destination."""
    partition.add_host("h2")
    ref = partition.hold("c1", "h1")
    state = partition.store.read_allocations(["c1"])["c1"]
    source, destination = dict(state.allocations), {"h2": {"VCPU": 2}}
    changes = (put("m1", source, None, type="MIGRATION"), put("c1", destination, state.generation))
    accepted(partition, *changes)
    shown = partition.store.read_allocations(["c1", "m1"])
    assert (shown["m1"].allocations, shown["m1"].is_api_owned) == (source, True)
    assert (shown["c1"].allocations, shown["c1"].is_api_owned) == (destination, False)
    epoch = partition.store.snapshot().epoch
    assert partition.store.audit("h1", epoch, [running(ref, "h1")], 0).answers[0].answer is Answer.CONFIRMED
    assert partition.store.read_allocations(["c1", "m1"]) == shown
    assert partition.store.audit("h2", epoch, [], 0).released == 0
    accepted(partition, put("m1", {}), put("c1", source, shown["c1"].generation))  # the move is reverted
    assert partition.used("h1") == source["h1"] and not any(partition.used("h2").values())


def test_claim_that_its_host_does_not_run_ends_though_it_was_replaced(partition: StorePartition) -> None:
    partition.hold("c1", "h1")
    generation = generation_of(partition, "c1")
    accepted(partition, put("c1", disk(4), generation))
    epoch = partition.store.snapshot().epoch
    assert partition.store.audit("h1", epoch, [], 0).released == 1
    assert partition.store.read_allocations(["c1"]) == {} and partition.used(POOL) == {}
    partition.check()


def test_replaced_claim_keeps_its_place_in_a_group(partition: StorePartition) -> None:
    group = ClaimGroup("g1", GroupPolicy.ANTI_AFFINITY)
    partition.prepare("c1", "h1", group=group)
    partition.store.confirm("h1", [ClaimRef("c1", 1)])
    generation = generation_of(partition, "c1")
    accepted(partition, put("c1", disk(2), generation))
    assert partition.prepare("c2", "h1", group=group).answer is Answer.REFUSED
    partition.check()
