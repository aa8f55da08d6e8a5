# SPDX-License-Identifier: Apache-2.0
"""Verdicts on candidates: what is planned for a batch counts, and what the store may have forgotten."""

from dataclasses import replace

import pytest

from rpcapi.resources.claims import GroupPolicy, Verdict
from scheduler_svc.core.records import Candidate, Claim, ClaimBatch, ClaimGroup
from scheduler_svc.store.memory.partition import MemoryPartition
from scheduler_svc.store.verbs.verdicts import PreparePlan, has_changed, judge, related_names

NODE = "h1/n1"
GROUP = ClaimGroup("g1", GroupPolicy.AFFINITY)
CLAIM = Claim("c1", 1, 1, "INSTANCE", "p", "u", "prepared", NODE, {NODE: {"VCPU": 2}}, "req-1", 0, group=GROUP)


@pytest.fixture
def partition() -> MemoryPartition:
    """A partition in its first epoch with an open node of 4 VCPU and a pool that another host shares."""
    partition = MemoryPartition(100)
    partition.begin_epoch(1000)
    partition.opened |= {"h1": partition.epoch, "h2": partition.epoch}
    partition.capacity |= {NODE: {"VCPU": 4}, "h2/pool": {"DISK_GB": 9}}
    return partition


@pytest.fixture
def batch(partition: MemoryPartition) -> ClaimBatch:
    """A batch without intents that was decided on the partition's current state."""
    return ClaimBatch("req-2", "p", "u", {"VCPU": 2}, (), partition.epoch, partition.position, 1000)


def test_planned_claims_count_against_capacity(partition: MemoryPartition, batch: ClaimBatch) -> None:
    plan = PreparePlan()
    assert judge(partition, batch, Candidate(NODE), plan) is Verdict.FITS
    plan.add(CLAIM, 1, batch)
    assert judge(partition, batch, Candidate(NODE), plan) is Verdict.FITS
    plan.add(CLAIM, 1, batch)
    assert judge(partition, batch, Candidate(NODE), plan) is Verdict.FULL
    plan.add(CLAIM, -1, batch)
    assert judge(partition, batch, Candidate(NODE), plan) is Verdict.FITS


def test_planned_members_count_in_their_own_group_only(batch: ClaimBatch) -> None:
    plan = PreparePlan()
    plan.add(CLAIM, 1, batch)
    assert plan.member_deltas == {}
    plan.add(CLAIM, 1, replace(batch, group=GROUP))
    assert plan.member_deltas == {NODE: 1}


def test_host_without_inventory_is_unknown_and_a_closed_one_is_closed(
    partition: MemoryPartition, batch: ClaimBatch
) -> None:
    assert judge(partition, batch, Candidate("h9/n1"), PreparePlan()) is Verdict.UNKNOWN
    del partition.opened["h1"]
    assert judge(partition, batch, Candidate(NODE), PreparePlan()) is Verdict.CLOSED


def test_claims_on_shared_providers_wait_for_awaited_hosts(partition: MemoryPartition, batch: ClaimBatch) -> None:
    on_pool = Candidate(NODE, {NODE: {"VCPU": 2}, "h2/pool": {"DISK_GB": 1}})
    assert judge(partition, batch, on_pool, PreparePlan()) is Verdict.FITS
    partition.await_host("h3")
    assert judge(partition, batch, on_pool, PreparePlan()) is Verdict.CLOSED
    assert judge(partition, batch, Candidate(NODE), PreparePlan()) is Verdict.FITS
    assert judge(partition, replace(batch, group=GROUP), Candidate(NODE), PreparePlan()) is Verdict.CLOSED


def test_changes_after_the_sums_were_read_count(partition: MemoryPartition, batch: ClaimBatch) -> None:
    partition.changed[NODE] = batch.position + 1
    assert has_changed(partition, batch, Candidate(NODE))
    assert not has_changed(partition, batch, Candidate(NODE, sums_position=batch.position + 1))


def test_eligibility_depends_on_providers_and_their_service_hosts() -> None:
    assert related_names(NODE, {"h2/pool": {"DISK_GB": 1}}) == {NODE, "h1", "h2/pool", "h2"}
