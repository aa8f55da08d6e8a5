# SPDX-License-Identifier: Apache-2.0
"""The decision record: reasons, names of rejected hosts, and the freshness of the table."""

from dataclasses import replace

import pytest

from rpcapi import errors
from rpcapi.resources.claims import MAX_INSTANCES, GroupPolicy
from scheduler_svc.core.filtering.survey import HostSurvey
from scheduler_svc.core.records import ClaimGroup
from scheduler_svc.scheduling.decisions import claim_batch
from scheduler_svc.scheduling.pending_call import PendingCall
from scheduler_svc.store import validation
from tests.support.scheduler import schedulers
from tests.support.scheduler.hosts import node, request
from tests.support.scheduler.schedulers import HostPartition, RefusingStore, select, selection_call


@pytest.fixture
def partition():
    return HostPartition()


def find_record(partition, call):
    return partition.store.find_decision(call.request.id)


def test_refusal_names_hosts_for_each_reason(partition):
    call = selection_call(scheduling_request=request({"VCPU": 1000}, ignore_hosts=("h1",)))
    scheduler, _ = partition.scheduler()
    with pytest.raises(errors.NoValidHost):
        schedulers.select(scheduler, call)
    record = find_record(partition, call)
    assert record["reasons"] == {"ignored host": 1, "not enough VCPU": 3}
    assert record["samples"] == {"ignored host": ["h1/n"], "not enough VCPU": ["h0/n", "h2/n", "h3/n"]}


def test_served_request_collects_no_sample_hosts(partition, monkeypatch):
    monkeypatch.setattr(HostSurvey, "samples", lambda *args: pytest.fail("host names were collected"))
    call = selection_call()
    scheduler, _ = partition.scheduler()
    schedulers.select(scheduler, call)
    assert "samples" not in find_record(partition, call)


def test_record_has_the_time_since_the_last_contact(partition):
    call = selection_call()
    scheduler, replica_view = partition.scheduler()
    replica_view.last_contact_s = 1.23456
    schedulers.select(scheduler, call)
    assert find_record(partition, call)["seconds_since_contact"] == 1.235


def test_decision_on_a_fresh_table_lags_by_its_own_entry(partition):
    call = selection_call()
    scheduler, _ = partition.scheduler()
    schedulers.select(scheduler, call)
    record = find_record(partition, call)
    assert record["answered_position"] - record["position"] == 1


def test_decision_on_a_stale_table_lags_by_unread_entries(partition):
    scheduler, _ = partition.scheduler()
    others = [partition.scheduler()[0] for _ in range(2)]
    for number, other in enumerate(others):
        schedulers.select(other, selection_call(first=10 + number))
    call = selection_call()
    schedulers.select(scheduler, call)
    record = find_record(partition, call)
    assert record["answered_position"] - record["position"] == 3


def test_record_of_a_refusal_names_candidates_lost_before():
    partition = HostPartition({"h0/n": node(), "h1/n": node()})
    eight = request({"VCPU": 8})
    late, _ = partition.scheduler()
    early, _ = partition.scheduler()
    schedulers.select(early, selection_call(2, first=10, scheduling_request=eight))
    call = selection_call(scheduling_request=replace(eight, id="req-2"))
    with pytest.raises(errors.NoValidHost):
        schedulers.select(late, call)
    record = find_record(partition, call)
    assert record["reasons"] == {"not enough VCPU": 2}
    assert sorted(record["lost"]) == [["h0/n", "CONCURRENT"], ["h1/n", "CONCURRENT"]]


def test_decision_record_has_position_seed_and_verdicts():
    partition = HostPartition()
    scheduler, replica_view = partition.scheduler()
    before = replica_view.table.partitions[0].position
    select(scheduler, selection_call(scheduling_request=request(required_traits=())))
    record = partition.store.find_decision("req-1")
    assert record["position"] == before
    assert record["seed"] == request().seed
    assert record["verdicts"][0]["tried"][0][1] == "FITS"
    assert len(record["best"]) == 4


def test_largest_affinity_request_has_as_many_candidates_as_one_batch_may_have():
    """Given more hosts that fit all instances than the driver ranks for one."""
    big = {"VCPU": 4 * MAX_INSTANCES, "MEMORY_MB": 1 << 24, "DISK_GB": 1 << 20}
    partition = HostPartition({f"h{number:02}": node(big) for number in range(20)})
    refusing = RefusingStore()
    scheduler, _ = partition.scheduler(refusing, max_tries=1)
    together = request(group=ClaimGroup("g", GroupPolicy.AFFINITY))
    refusing.group_hosts = partition.store.group_hosts
    with pytest.raises(errors.NoValidHost):
        select(scheduler, selection_call(MAX_INSTANCES, scheduling_request=together))
    (batch,) = refusing.batches
    validation.check_batch(batch)
    assert {len(intent.candidates) for intent in batch.intents} == {8}
    scheduler, _ = partition.scheduler()
    assert len(select(scheduler, selection_call(MAX_INSTANCES, scheduling_request=together)).prepared) == MAX_INSTANCES


def test_candidates_of_wide_trees_are_fewer_in_a_large_request():
    wide = {name: {"CUSTOM_PART": 1} for name in map(str, range(16))}
    partition = HostPartition()
    scheduler, _ = partition.scheduler()
    names = [f"h{number}/n" for number in range(4)] * 2
    for count, candidates in ((1, 8), (100, 8), (MAX_INSTANCES, 4)):
        call = selection_call(count)
        snapshot = scheduler.take_snapshot(schedulers.FILTER_POLICY, call.request, 1)
        ranking = replace(
            snapshot.ranking, candidates=[names] * count, allocations=[dict.fromkeys(names, wide)] * count
        )
        pending = PendingCall(schedulers.FILTER_POLICY, call, partition="p", max_tries=1)
        batch = claim_batch(
            pending,
            replace(snapshot, ranking=ranking),
            snapshot.log_positions[0],
            last_contact_s=0.0,
            ttl_ms=1000,
        )
        validation.check_batch(batch)
        assert {len(intent.candidates) for intent in batch.intents} == {candidates}
