# SPDX-License-Identifier: Apache-2.0
"""The partition that serves a call: the best, the recorded one, or the group's; never two."""

from dataclasses import replace

import pytest

from rpcapi import context, errors
from rpcapi.resources import transient
from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.records import ClaimGroup, ClaimRef
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.group_homes import LIFETIME_MS
from scheduler_svc.scheduling.partition_router import LINGER_S, REASON_GROUP
from tests.support.scheduler.deployments import TTL_MS, PartitionedDeployment
from tests.support.scheduler.hosts import join, node, request
from tests.support.scheduler.replica_views import FILTER_POLICY

ROOMY = {"VCPU": 16, "MEMORY_MB": 32768, "DISK_GB": 400}
PIN_MS = round(TTL_MS + 1000 * LINGER_S)


def call(count=1, first=0, scheduling_request=None, **more):
    return SelectionCall(
        context.new("p", "u"),
        scheduling_request or request(),
        [f"vm-{number}" for number in range(first, first + count)],
        **{"fresh": True, **more},
    )


def select(worker, selection_call):
    return worker.scheduler.select(FILTER_POLICY, selection_call)


def test_large_call_refused_in_one_partition_moves_to_the_next():
    small = {f"a{number:02}": node(ROOMY) for number in range(14)}  # capacity for 112
    large = {f"b{number:02}": node() for number in range(40)}  # capacity for 160
    deployment = PartitionedDeployment(a=small, b=large)
    result = select(deployment.worker, call(130))
    assert result.partition == "b"
    assert len(deployment.live()) == 130
    assert set(map(tuple, deployment.live().values())) == {("b",)}


def test_lost_race_in_one_partition_falls_back_to_the_next():
    deployment = PartitionedDeployment(2, a={"a1": node()}, b={"b1": node({"VCPU": 4})})
    slow, quick = deployment.workers
    select(quick, call(4, first=10, scheduling_request=request({"VCPU": 2}, force_hosts=("a1",))))
    result = select(slow, call(scheduling_request=request({"VCPU": 2})))
    assert result.partition == "b"
    assert deployment.stores["a"].find_decision("req-1")["outcome"] == "refused"


@pytest.mark.parametrize("group", [None, ClaimGroup("g", GroupPolicy.ANTI_AFFINITY, 1)])
def test_new_call_avoids_a_partition_at_its_bound_unless_no_other_has_room(monkeypatch, group):
    deployment = PartitionedDeployment(a={"a1": node(ROOMY), "a2": node(ROOMY)}, b={"b1": node({"VCPU": 2})})
    monkeypatch.setattr(deployment.stores["a"], "accepts_claims", lambda: False)
    grouped = request({"VCPU": 2}, group=group)
    assert select(deployment.worker, call(scheduling_request=grouped)).partition == "b"
    other = request({"VCPU": 2})
    assert select(deployment.worker, call(first=1, scheduling_request=other)).partition == "a"  # its store decides


def test_call_goes_to_a_partition_at_its_bound_at_once_where_no_other_has_room(monkeypatch):
    deployment = PartitionedDeployment(a={"a1": node({"VCPU": 1})}, b={"b1": node(ROOMY)})
    monkeypatch.setattr(deployment.stores["b"], "accepts_claims", lambda: False)
    assert select(deployment.worker, call(scheduling_request=request({"VCPU": 2}))).partition == "b"
    with pytest.raises(errors.UnknownDecision):
        deployment.stores["a"].find_decision("req-1")


def test_call_past_its_deadline_records_no_pin():
    deployment = PartitionedDeployment(a={"a1": node()}, b={"b1": node()})
    with pytest.raises(errors.DeadlinePassed):
        deployment.worker.scheduler.select(FILTER_POLICY, replace(call(), ctxt=context.new("p", "u", deadline=1.0)))
    assert not any(store.state.pins for store in deployment.stores.values())


@pytest.mark.parametrize("other", [False, True])
def test_repeated_call_stays_in_its_partition_although_another_is_better(other):
    deployment = PartitionedDeployment(2, a={"a1": node(ROOMY)}, b={"b1": node()})
    deployment.stores["a"].lost_answer = "prepare"
    with pytest.raises(errors.StoreUnavailable, match="was lost"):
        select(deployment.worker, call())
    join(
        deployment.stores["b"], {"big": node({resource_class: 10 * amount for resource_class, amount in ROOMY.items()})}
    )
    for worker in deployment.workers:
        worker.follow()
    assert select(deployment.workers[other], call()).partition == "a"
    assert deployment.live() == {"vm-0": ["a"]}
    assert select(deployment.worker, call(first=1)).partition == "b"


def test_repeated_call_is_answered_on_full_hosts():
    deployment = PartitionedDeployment(a={"a1": node({"VCPU": 2})}, b={"b1": node({"VCPU": 2})})
    scheduling_request = request({"VCPU": 2})
    first, second = (
        select(deployment.worker, call(first=number, scheduling_request=scheduling_request)).partition
        for number in range(2)
    )
    deployment.worker.follow()
    assert [
        select(deployment.worker, call(first=number, scheduling_request=scheduling_request)).partition
        for number in range(2)
    ] == [
        first,
        second,
    ]
    with pytest.raises(errors.NoValidHost, match="2 not enough VCPU"):
        select(deployment.worker, call(first=2, scheduling_request=scheduling_request))


def test_requests_are_served_by_other_partitions_when_one_is_unavailable():
    deployment = PartitionedDeployment(a={"a1": node(ROOMY), "a2": node(ROOMY)}, b={"b1": node()})
    deployment.take_away("a")
    assert select(deployment.worker, call()).partition == "b"
    with pytest.raises(errors.NoValidHost, match="3 not enough VCPU"):
        select(deployment.worker, call(first=1, scheduling_request=request({"VCPU": 100})))
    with pytest.raises(errors.NoValidHost, match="1 not enough VCPU, 2 partition unavailable for less than a minute"):
        select(deployment.worker, call(first=1, scheduling_request=request({"VCPU": 9})))
    deployment.take_away("a", False)
    assert select(deployment.worker, call(first=2)).partition == "a"


def test_partition_that_is_away_for_long_is_not_transient(monkeypatch):
    deployment = PartitionedDeployment(a={"a1": node(ROOMY), "a2": node(ROOMY)}, b={"b1": node()})
    deployment.take_away("a")
    monkeypatch.setattr(transient, "SECONDS", 0.0)
    with pytest.raises(errors.NoValidHost, match="2 partition unavailable, 1 not enough VCPU"):
        select(deployment.worker, call(scheduling_request=request({"VCPU": 9})))


def test_partition_that_failed_a_claim_is_skipped_by_the_next_call():
    deployment = PartitionedDeployment(a={"a1": node(ROOMY)}, b={"b1": node()})
    deployment.stores["a"].away = True  # the follower has not noticed
    with pytest.raises(errors.StoreUnavailable):
        select(deployment.worker, call())
    assert select(deployment.worker, call(first=1)).partition == "b"


def test_store_is_unavailable_without_any_partition():
    deployment = PartitionedDeployment(a={"a1": node()}, b={"b1": node()})
    deployment.take_away("a")
    deployment.take_away("b")
    with pytest.raises(errors.StoreUnavailable, match="none of the partitions a, b"):
        select(deployment.worker, call())


def test_repeated_call_waits_until_claims_in_an_unavailable_partition_expire():
    deployment = PartitionedDeployment(2, a={"a1": node(ROOMY)}, b={"b1": node()})
    deployment.stores["a"].lost_answer = "prepare"
    with pytest.raises(errors.StoreUnavailable):
        select(deployment.worker, call())
    deployment.take_away("a")
    for worker in deployment.workers:
        with pytest.raises(errors.StoreUnavailable, match="its claims may be live"):
            select(worker, call())
    deployment.wait(TTL_MS)
    assert select(deployment.worker, call()).partition == "b"
    deployment.take_away("a", False)
    assert select(deployment.worker, call()).partition == "b"
    assert deployment.live() == {"vm-0": ["b"]}


def apart(group="g", **more):
    return request({"VCPU": 1}, group=ClaimGroup(group, GroupPolicy.ANTI_AFFINITY), **more)


def test_server_group_stays_in_one_partition():
    deployment = PartitionedDeployment(
        2, a={"a1": node(ROOMY), "a2": node(ROOMY)}, b={f"b{number}": node() for number in range(9)}
    )
    assert [
        select(deployment.workers[number], call(first=number, scheduling_request=apart())).partition
        for number in range(2)
    ] == [
        "a",
        "a",
    ]
    with pytest.raises(errors.NoValidHost) as caught:
        select(deployment.worker, call(first=2, scheduling_request=apart()))
    assert caught.value.kwargs["reasons"] == {"server group policy": 2, REASON_GROUP: 9}
    assert select(deployment.worker, call(first=3, scheduling_request=apart("another"))).partition == "b"


def test_group_call_fails_while_its_partition_is_unavailable():
    deployment = PartitionedDeployment(a={"a1": node(ROOMY)}, b={"b1": node()})
    assert select(deployment.worker, call(scheduling_request=apart())).partition == "a"
    deployment.take_away("a")
    deployment.wait(10 * TTL_MS)
    with pytest.raises(errors.StoreUnavailable, match="partition 'a'"):
        select(deployment.worker, call(first=1, scheduling_request=apart()))


def test_group_without_members_goes_to_a_partition_with_capacity():
    deployment = PartitionedDeployment(a={"a1": node(ROOMY)}, b={"b1": node()})
    select(deployment.worker, call(scheduling_request=apart()))
    deployment.stores["a"].abort([ClaimRef("vm-0", 1)])
    deployment.worker.follow()
    select(deployment.worker, call(1, first=10, scheduling_request=request({"VCPU": 16}, force_hosts=("a1",))))
    assert select(deployment.worker, call(first=1, scheduling_request=apart())).partition == "b"


def test_group_is_found_by_its_members_after_its_pin_expired():
    deployment = PartitionedDeployment(a={"a1": node(ROOMY), "a2": node(ROOMY)}, b={"b1": node()})
    select(deployment.worker, call(scheduling_request=apart()))
    deployment.stores["a"].confirm("a1", [ClaimRef("vm-0", 1)])
    deployment.stores["a"].confirm("a2", [ClaimRef("vm-0", 1)])
    deployment.wait(LIFETIME_MS + 1)
    join(
        deployment.stores["b"], {"big": node({resource_class: 10 * amount for resource_class, amount in ROOMY.items()})}
    )
    deployment.worker.follow()
    assert select(deployment.worker, call(first=1, scheduling_request=apart())).partition == "a"


def test_pin_expires_after_the_claims_that_it_guards():
    deployment = PartitionedDeployment(a={"a1": node(ROOMY)}, b={"b1": node()})
    assert select(deployment.worker, call()).partition == "a"
    deployment.stores["a"].abort([ClaimRef("vm-0", 1)])
    join(
        deployment.stores["b"], {"big": node({resource_class: 10 * amount for resource_class, amount in ROOMY.items()})}
    )
    deployment.worker.follow()
    deployment.wait(PIN_MS - 1)
    with pytest.raises(errors.ClaimEnded) as caught:
        select(deployment.worker, call())
    assert caught.value.kwargs["partition"] == "a"
    deployment.wait(PIN_MS)
    assert select(deployment.worker, call(attempt=2)).partition == "b"


def test_call_with_live_claims_in_a_partition_is_not_served_elsewhere():
    deployment = PartitionedDeployment(a={"a1": node(ROOMY)}, b={f"b{number}": node() for number in range(9)})
    select(deployment.worker, call())
    select(deployment.worker, call(7, first=20, scheduling_request=request(force_hosts=("a1",))))
    with pytest.raises(errors.NoValidHost):
        select(deployment.worker, call(2))  # vm-0 has a claim in a, which has no capacity for vm-1
    assert deployment.live()["vm-0"] == ["a"]
    assert "vm-1" not in deployment.live()


def test_unknown_forced_host_is_named_in_the_error():
    deployment = PartitionedDeployment(a={"a1": node()}, b={"b1": node()})
    with pytest.raises(errors.UnknownHost, match="c1"):
        select(deployment.worker, call(scheduling_request=request(force_hosts=("c1",))))
    assert select(deployment.worker, call(scheduling_request=request(force_hosts=("b1",)))).partition == "b"


def test_pin_to_an_unconfigured_partition_is_replaced():
    deployment = PartitionedDeployment(a={"a1": node()}, b={"b1": node()})
    for store in deployment.stores.values():
        store.pin("consumer:vm-0", "gone", 60_000)
    assert select(deployment.worker, call()).partition in ("a", "b")
