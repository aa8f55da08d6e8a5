# SPDX-License-Identifier: Apache-2.0
"""Requests of every size: all instances are claimed by one script, or none."""

import time
from collections import Counter

import pytest

from rpcapi import context, errors
from rpcapi.resources.claims import MAX_INSTANCES, GroupPolicy
from scheduler_svc.core.records import ClaimGroup
from tests.support.scheduler.hosts import join, node, request
from tests.support.scheduler.schedulers import (
    AnswerLosingStore,
    FakeStore,
    HostPartition,
    select,
    selection_call,
)

SIZES = [1, 100, 101, MAX_INSTANCES]
ONE = request({"VCPU": 1})


def roomy(vcpus):
    return node({"VCPU": vcpus, "MEMORY_MB": 1 << 20, "DISK_GB": 1 << 14})


def hosts_for(count):
    """Return hosts with four processors each, and the rest of ``count`` on the last."""
    return {f"h{number:03}": roomy(min(4, count - 4 * number)) for number in range(-(-count // 4))}


def claim_counts(partition):
    return dict(partition.store.counts())


@pytest.mark.parametrize("size", SIZES)
def test_request_that_fits_exactly_is_claimed_by_one_script(size):
    partition = HostPartition(hosts_for(size))
    scheduler, _ = partition.scheduler()
    result = select(scheduler, selection_call(size, scheduling_request=ONE))
    assert len({prepared.consumer for prepared in result.prepared}) == size
    assert max(Counter(prepared.host for prepared in result.prepared).values()) == min(size, 4)
    assert claim_counts(partition)["prepared"] == size
    assert partition.store.find_decision("req-1")["instances"] == size


@pytest.mark.parametrize("size", SIZES)
def test_request_for_one_too_many_claims_nothing_and_keeps_its_attempt(size):
    partition = HostPartition(hosts_for(size))
    scheduler, replica_view = partition.scheduler()
    select(scheduler, selection_call(scheduling_request=ONE, first=MAX_INSTANCES))
    replica_view.reach(partition.store.snapshot().position, 1)
    call = selection_call(size, scheduling_request=ONE)
    with pytest.raises(errors.NoValidHost):
        select(scheduler, call)
    assert claim_counts(partition)["prepared"] == 1
    join(partition.store, {"another": roomy(1)})
    replica_view.reach(partition.store.snapshot().position, 1)
    assert {prepared.attempt for prepared in select(scheduler, call).prepared} == {1}
    assert claim_counts(partition)["prepared"] == size + 1
    assert partition.store.verify().problems == []


@pytest.mark.parametrize("size", SIZES)
def test_repeated_request_whose_answer_was_lost_returns_its_claims(size):
    partition = HostPartition(hosts_for(size))
    scheduler, _ = partition.scheduler(AnswerLosingStore(partition.store))
    with pytest.raises(errors.StoreUnavailable, match="lost"):
        select(scheduler, selection_call(size, scheduling_request=ONE))
    assert claim_counts(partition)["prepared"] == size
    # Another worker, on a table that shows no capacity.
    scheduler, _ = partition.scheduler()
    assert len(select(scheduler, selection_call(size, scheduling_request=ONE)).prepared) == size
    assert claim_counts(partition)["prepared"] == size


@pytest.mark.parametrize("size", SIZES)
def test_affinity_takes_a_host_with_capacity_for_all(size):
    """Given a host that weighs more but lacks the capacity for one of the instances."""
    nodes = {
        "x": node({"VCPU": 1 << 21, "MEMORY_MB": 1 << 21 if size == 1 else size - 1}),
        "y": node({"VCPU": size, "MEMORY_MB": size}),
    }
    partition = HostPartition(nodes)
    scheduler, _ = partition.scheduler()
    together = request({"VCPU": 1, "MEMORY_MB": 1}, group=ClaimGroup("g", GroupPolicy.AFFINITY))
    result = select(scheduler, selection_call(size, scheduling_request=together))
    assert {prepared.host for prepared in result.prepared} == {"x" if size == 1 else "y"}


@pytest.mark.parametrize("size", [1, 100, 101])
def test_anti_affinity_on_a_table_that_lacks_claims_of_others_is_served_from_the_remaining_hosts(size):
    """Given hosts that were filled since the worker's last look, and as many hosts left as the request needs."""
    filled = 40
    partition = HostPartition({f"h{number:03}": roomy(1) for number in range(size + filled)})
    scheduler, _ = partition.scheduler()
    others, _ = partition.scheduler()
    select(others, selection_call(filled, first=MAX_INSTANCES, scheduling_request=ONE))
    apart = request({"VCPU": 1}, group=ClaimGroup("g", GroupPolicy.ANTI_AFFINITY))
    result = select(scheduler, selection_call(size, scheduling_request=apart))
    assert len({prepared.host for prepared in result.prepared}) == size
    assert partition.store.verify().problems == []


def test_workers_on_one_look_place_their_groups_on_all_hosts():
    """Given hosts for one instance each, and workers whose tables show all of them as free."""
    partition = HostPartition({f"h{number:03}": roomy(1) for number in range(100)})
    schedulers = [partition.scheduler()[0] for _ in range(5)]
    for number, scheduler in enumerate(schedulers):
        apart = request({"VCPU": 1}, group=ClaimGroup(f"g{number}", GroupPolicy.ANTI_AFFINITY))
        select(scheduler, selection_call(20, first=20 * number, scheduling_request=apart))
    assert claim_counts(partition)["prepared"] == 100


def test_request_past_its_deadline_claims_nothing():
    partition = HostPartition(hosts_for(101))
    ctxt = context.new(deadline=time.time() + 60)

    class Slow(FakeStore):
        def group_hosts(self, group_id):
            ctxt.deadline = time.time() - 1
            return self._store.group_hosts(group_id)

    scheduler, _ = partition.scheduler(Slow(partition.store))
    apart = request({"VCPU": 1}, group=ClaimGroup("g", GroupPolicy.SOFT_ANTI_AFFINITY))
    with pytest.raises(errors.DeadlinePassed):
        select(scheduler, selection_call(101, scheduling_request=apart, ctxt=ctxt))
    assert claim_counts(partition)["prepared"] == 0


def test_claims_of_an_earlier_call_survive_a_later_refusal():
    partition = HostPartition(hosts_for(120))
    scheduler, replica_view = partition.scheduler()
    select(scheduler, selection_call(100, scheduling_request=ONE))
    replica_view.reach(partition.store.snapshot().position, 1)
    with pytest.raises(errors.NoValidHost):
        select(scheduler, selection_call(121, scheduling_request=ONE))
    assert claim_counts(partition)["prepared"] == 100
