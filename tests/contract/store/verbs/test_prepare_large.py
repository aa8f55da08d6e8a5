# SPDX-License-Identifier: Apache-2.0
"""Batches of every size: one contract from one instance to the largest request."""

from typing import Any

import pytest

from rpcapi.resources.claims import MAX_INSTANCES, Answer, GroupPolicy, Verdict
from scheduler_svc.core.records import BatchAnswer, ClaimBatch, ClaimGroup, ClaimRef
from scheduler_svc.store.validation import MAX_BATCH_CANDIDATES
from tests.support.store.store_partition import SHORT_MS, StorePartition, intent

SIZES = [1, 100, 101, MAX_INSTANCES]
ONE = {"VCPU": 1}


def add_hosts(partition: StorePartition, *capacities: int) -> list[str]:
    """Add hosts that take so many instances, and return their names."""
    names = [f"h{number}" for number in range(len(capacities))]
    for name, capacity in zip(names, capacities, strict=True):
        partition.add_host(name, amounts={"VCPU": capacity})
    return names


def batch_of(partition: StorePartition, size: int, *hosts: str, attempt: int = 1, **options: Any) -> ClaimBatch:
    """Return a batch of ``size`` instances with the same candidates; later attempts replace the ones before."""
    replaces = attempt - 1 or None
    intents = (intent(f"c{number}", *hosts, attempt=attempt, replaces=replaces) for number in range(size))
    return partition.batch(*intents, resources=ONE, **options)


def answers(answer: BatchAnswer) -> set[Answer]:
    return {result.answer for result in answer.prepared}


@pytest.mark.parametrize("size", SIZES)
def test_batch_that_fits_exactly_is_claimed_and_repeated(partition: StorePartition, size: int) -> None:
    hosts = add_hosts(partition, size - size // 2, size // 2 or 1)
    batch = batch_of(partition, size, *hosts)
    answer = partition.store.prepare(batch)
    assert answer.accepted
    assert sum(sums["VCPU"] for sums in answer.used.values()) == size
    again = partition.store.prepare(batch)
    assert [result.host for result in again.prepared] == [result.host for result in answer.prepared]
    assert partition.check().claims["prepared"] == size


@pytest.mark.parametrize("size", SIZES)
def test_batch_whose_last_instance_does_not_fit_changes_nothing(partition: StorePartition, size: int) -> None:
    partition.add_host("h0", amounts={"VCPU": size})
    partition.prepare("another", "h0", resources=ONE)
    answer = partition.store.prepare(batch_of(partition, size, "h0"))
    assert (answer.accepted, answer.used, answers(answer)) == (False, {}, {Answer.REFUSED})
    assert tuple(answer.prepared[-1].verdicts) == (Verdict.FULL,)
    # The attempt is not used up: it is claimed as soon as there is capacity.
    partition.store.abort([ClaimRef("another", 1)])
    assert partition.store.prepare(batch_of(partition, size, "h0")).accepted
    partition.check()


@pytest.mark.parametrize("size", SIZES)
def test_batch_waits_for_the_audit_of_its_last_host(partition: StorePartition, size: int) -> None:
    add_hosts(partition, size, size)
    epoch = partition.new_epoch()
    partition.store.audit("h0", epoch, [], 0)
    hosts = {number: "h1" if number == size - 1 else "h0" for number in range(size)}
    intents = [intent(f"c{number}", host) for number, host in hosts.items()]
    answer = partition.store.prepare(partition.batch(*intents, resources=ONE))
    assert (answer.accepted, answers(answer)) == (False, {Answer.REFUSED})
    assert tuple(answer.prepared[-1].verdicts) == (Verdict.CLOSED,)
    partition.store.audit("h1", epoch, [], 0)
    assert partition.store.prepare(partition.batch(*intents, resources=ONE)).accepted
    partition.check()


@pytest.mark.parametrize("size", SIZES)
def test_all_claims_of_a_batch_end_at_its_deadline_and_are_replaced_at_once(
    partition: StorePartition, size: int
) -> None:
    add_hosts(partition, size)
    assert partition.store.prepare(batch_of(partition, size, "h0", ttl_ms=SHORT_MS)).accepted
    partition.wait_until(partition.time() + SHORT_MS)
    assert answers(partition.store.prepare(batch_of(partition, size, "h0"))) == {Answer.ENDED}
    assert partition.store.prepare(batch_of(partition, size, "h0", attempt=2)).accepted
    assert partition.check().claims["prepared"] == size


@pytest.mark.parametrize("size", SIZES)
def test_batch_of_a_server_group_goes_to_one_host_or_none(partition: StorePartition, size: int) -> None:
    add_hosts(partition, size, size + 1)
    group = ClaimGroup("g1", GroupPolicy.AFFINITY)
    partition.prepare("another", "h0", resources=ONE)
    refused = partition.store.prepare(batch_of(partition, size, "h0", group=group))
    assert (answers(refused), partition.store.group_hosts("g1")) == ({Answer.REFUSED}, {})
    assert partition.store.prepare(batch_of(partition, size, "h1", group=group)).accepted
    assert partition.store.group_hosts("g1") == {"h1": size}
    partition.check()


@pytest.mark.parametrize("count", [33, MAX_INSTANCES])
def test_claims_past_their_deadline_free_all_their_capacity(partition: StorePartition, count: int) -> None:
    add_hosts(partition, count)
    assert partition.store.prepare(batch_of(partition, count, "h0", ttl_ms=SHORT_MS)).accepted
    partition.wait_until(partition.time() + SHORT_MS)
    assert partition.prepare("big", "h0", resources={"VCPU": count}).answer is Answer.PREPARED
    assert partition.states() == {"big": "prepared"}
    partition.check()


def test_claims_past_their_deadline_on_closed_hosts_do_not_stop_a_batch(partition: StorePartition) -> None:
    add_hosts(partition, MAX_INSTANCES, 1)
    assert partition.store.prepare(batch_of(partition, MAX_INSTANCES, "h0", ttl_ms=SHORT_MS)).accepted
    partition.store.audit("h1", partition.new_epoch(), [], 0)
    partition.wait_until(partition.time() + SHORT_MS)
    assert partition.prepare("new", "h1", resources=ONE).answer is Answer.PREPARED
    assert sum(partition.check().claims.values()) == MAX_INSTANCES + 1


def test_batch_with_most_candidates(partition: StorePartition) -> None:
    hosts = add_hosts(partition, *[1] * 8)
    many = [intent(f"c{number}", *hosts) for number in range(MAX_INSTANCES)]
    assert sum(len(batch_intent.candidates) for batch_intent in many) == MAX_BATCH_CANDIDATES
    answer = partition.store.prepare(partition.batch(*many, resources=ONE))
    assert [len(result.verdicts) for result in answer.prepared[:9]] == [1, 2, 3, 4, 5, 6, 7, 8, 8]
    assert answers(answer) == {Answer.REFUSED}
    assert set(answer.prepared[-1].verdicts) == {Verdict.FULL}
