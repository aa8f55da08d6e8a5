# SPDX-License-Identifier: Apache-2.0
"""The decision and its claim: selection, repeated calls, deadlines, decision records."""

import time
from collections import Counter

import pytest

from rpcapi import context, errors
from scheduler_svc.core.drivers.filter import FilterDriver
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.matching.options import FilterOptions
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.core.weighers import scoring
from scheduler_svc.scheduling.partition_scheduler import PartitionScheduler, SchedulingLimits
from scheduler_svc.scheduling.ranking import SchedulingPolicy
from tests.support.scheduler.hosts import SMALL_REQUEST, node, request
from tests.support.scheduler.replica_views import FILTER_POLICY, FollowingReplicaView, filter_driver
from tests.support.scheduler.schedulers import FakeStore, HostPartition, RefusingStore, select, selection_call


def test_an_instance_gets_a_host_a_claim_and_alternates():
    partition = HostPartition()
    scheduler, _ = partition.scheduler()
    result_ = select(scheduler, selection_call(alternates=2))
    (claim,) = partition.live()
    (result,) = result_.prepared
    assert (claim.consumer, claim.attempt, claim.state) == ("vm-0", 1, "prepared")
    assert claim.allocations == {claim.host: SMALL_REQUEST}
    assert (claim.project, claim.user, claim.request_id) == ("p", "u", "req-1")
    assert result.host == claim.host
    assert len({result.host, *result.alternates}) == 3


def test_table_counts_own_claims_immediately():
    partition = HostPartition({"a": node(), "b": node()})
    scheduler, replica_view = partition.scheduler()
    selected_hosts = [select(scheduler, selection_call(first=number)).prepared[0].host for number in range(8)]
    assert Counter(selected_hosts) == {"a": 4, "b": 4}
    assert [set(selected_hosts[pair : pair + 2]) for pair in (0, 2, 4, 6)] == [{"a", "b"}] * 4
    assert replica_view.reached == []


def test_table_counts_claims_that_their_hosts_have_not_reported():
    filters = pipeline.build(["NumInstancesFilter"], FilterOptions(max_instances_per_host=2))
    driver = FilterDriver(filters, scoring.build({}))
    policy = SchedulingPolicy(driver)
    partition = HostPartition({"a": node(metrics={"instances": 1})})
    replica_view = FollowingReplicaView(partition.store, driver.reads)
    scheduler = PartitionScheduler(partition.store, replica_view, SchedulingLimits())
    for number in (1, 2):
        select(scheduler, selection_call(first=number), policy=policy)
    with pytest.raises(errors.NoValidHost) as caught:
        select(scheduler, selection_call(first=3), policy=policy)
    assert caught.value.kwargs["reasons"] == {"too many instances": 1}


def test_repeated_call_returns_the_same_answer_on_a_full_host():
    partition = HostPartition({"a": node()})
    scheduler, replica_view = partition.scheduler()
    first = select(scheduler, selection_call(4)).prepared
    replica_view.reach(partition.store.snapshot().position, 1)
    again = select(scheduler, selection_call(4)).prepared
    assert [result.host for result in again] == [result.host for result in first]
    assert len(partition.live()) == 4
    with pytest.raises(errors.NoValidHost):
        select(scheduler, selection_call(first=4))


def test_a_refusal_counts_reasons_and_is_recorded():
    partition = HostPartition()
    scheduler, _ = partition.scheduler()
    with pytest.raises(errors.NoValidHost, match="No valid host: 4 not enough VCPU") as caught:
        select(scheduler, selection_call(scheduling_request=request({"VCPU": 100})))
    assert caught.value.kwargs["reasons"] == {"not enough VCPU": 4}
    record = partition.store.find_decision("req-1")
    assert (record["outcome"], record["reasons"], record["hosts"]) == ("refused", {"not enough VCPU": 4}, 4)
    assert record["spec"] == {"resources": {"VCPU": 100}}


def test_empty_partition_is_refused_with_its_own_reason():
    scheduler, _ = HostPartition({}).scheduler()
    with pytest.raises(errors.NoValidHost, match="no host has reported"):
        select(scheduler, selection_call())


def test_new_epoch_closes_hosts_until_they_are_audited():
    partition = HostPartition()
    scheduler, replica_view = partition.scheduler()
    epoch = partition.store.begin_epoch()
    with pytest.raises(errors.NoValidHost, match="4 not audited in this epoch"):
        select(scheduler, selection_call())
    assert replica_view.table.partitions[0].epoch == epoch
    partition.store.audit("h2", epoch, [], 0)
    replica_view.reach(partition.store.snapshot().position, 1)
    assert select(scheduler, selection_call()).prepared[0].host == "h2/n"


def test_host_disabled_after_ranking_is_not_claimed():
    partition = HostPartition({"a": node(), "b": node()})
    scheduler, _ = partition.scheduler()
    for name in ("a", "b"):
        version, _document = partition.store.get_state("service", name)
        partition.store.put_state("service", name, version, {"enabled": False})
    with pytest.raises(errors.NoValidHost, match="2 service disabled"):
        select(scheduler, selection_call())


def test_ended_attempt_is_not_claimed_again():
    partition = HostPartition()
    scheduler, _ = partition.scheduler()
    select(scheduler, selection_call())
    partition.store.abort([ClaimRef("vm-0", 1)])
    with pytest.raises(errors.ClaimEnded):
        select(scheduler, selection_call())
    select(scheduler, selection_call(attempt=2))
    with pytest.raises(errors.ClaimConflict):
        select(scheduler, selection_call(attempt=3))


def test_deadline_passed_before_the_decision_claims_nothing():
    partition = HostPartition()
    scheduler, _ = partition.scheduler()
    with pytest.raises(errors.DeadlinePassed):
        select(scheduler, selection_call(ctxt=context.new(deadline=time.time() - 1)))
    assert partition.live() == []


def test_deadline_passed_while_deciding_claims_nothing():
    partition = HostPartition()
    scheduler, _ = partition.scheduler()
    ctxt = context.new(deadline=time.time() + 60)
    driver = FILTER_POLICY.driver

    class Slow:
        reads, filters = driver.reads, driver.filters

        def rank(self, *args):
            ctxt.deadline = time.time() - 1
            return driver.rank(*args)

    with pytest.raises(errors.DeadlinePassed):
        select(scheduler, selection_call(ctxt=ctxt), SchedulingPolicy(Slow()))
    assert partition.live() == []


def test_unknown_forced_host_is_named_in_the_error():
    scheduler, _ = HostPartition().scheduler()
    with pytest.raises(errors.UnknownHost, match="h9"):
        select(scheduler, selection_call(scheduling_request=request(force_hosts=("h0", "h9"))))
    assert select(scheduler, selection_call(scheduling_request=request(force_hosts=("h1",)))).prepared[0].host == "h1/n"


def test_unknown_forced_host_is_refused_although_the_record_fails(caplog):
    caplog.set_level("WARNING", logger="scheduler_svc.scheduling.decisions")
    partition = HostPartition()

    class SilentStore(FakeStore):
        def record_decision(self, request_id, document):
            raise errors.StoreUnavailable(why="it is away")

    scheduler, _ = partition.scheduler(SilentStore(partition.store))
    with pytest.raises(errors.UnknownHost, match="h9"):
        select(scheduler, selection_call(scheduling_request=request(force_hosts=("h9",))))
    assert "Cannot record the refusal of request req-1" in caplog.text


def test_served_request_is_logged_at_debug_level_only(caplog):
    logger = "scheduler_svc.scheduling.partition_scheduler"
    caplog.set_level("DEBUG", logger=logger)
    scheduler, _ = HostPartition().scheduler()
    select(scheduler, selection_call(3))
    messages = [(record.levelname, record.getMessage()) for record in caplog.records if record.name == logger]
    assert messages == [("DEBUG", "Selected hosts for 3 instances")]


def test_driver_knows_how_many_tries_were_lost(monkeypatch):
    lost_tries = []

    def rank(driver, view, request, count, seed):
        lost_tries.append(request.decision.lost_tries)
        return FilterDriver.rank(driver, view, request, count, seed)

    driver = filter_driver()
    monkeypatch.setattr(driver, "rank", rank.__get__(driver))
    scheduler, _ = HostPartition().scheduler(RefusingStore(), max_tries=3)
    with pytest.raises(errors.NoValidHost):
        select(scheduler, selection_call(), policy=SchedulingPolicy(driver))
    assert lost_tries == [0, 1, 2]
