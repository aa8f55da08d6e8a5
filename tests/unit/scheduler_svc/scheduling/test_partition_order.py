# SPDX-License-Identifier: Apache-2.0
"""The order in which the partitions of a call are tried, and the reasons of those that refuse it."""

import pytest

from rpcapi import context, errors
from rpcapi.resources.claims import Verdict
from rpcapi.resources.transient import CLAIMED_MEANWHILE, PARTITION_JUST_AWAY
from scheduler_svc.scheduling.calls import SelectionCall
from tests.support.scheduler.deployments import DeploymentWorker, PartitionedDeployment
from tests.support.scheduler.hosts import node, request
from tests.support.scheduler.replica_views import FILTER_POLICY

ROOMY = {"VCPU": 16, "MEMORY_MB": 32768, "DISK_GB": 400}


def call(count=1, first=0, scheduling_request=None, **more):
    return SelectionCall(
        context.new("p", "u"),
        scheduling_request or request(),
        [f"vm-{number}" for number in range(first, first + count)],
        **{"fresh": True, **more},
    )


def select(worker, selection_call):
    return worker.scheduler.select(FILTER_POLICY, selection_call)


def test_best_host_of_all_partitions_is_selected():
    deployment = PartitionedDeployment(a={"a1": node()}, b={"b1": node(ROOMY)})
    result = select(deployment.worker, call())
    assert (result.partition, result.prepared[0].host) == ("b", "b1")
    assert deployment.live() == {"vm-0": ["b"]}
    assert result.epoch == deployment.stores["b"].state.epoch


def test_partition_is_not_ranked_alone_when_the_common_ranking_suffices():
    nodes = {name: {f"{name}{number:02}": node() for number in range(20)} for name in "ab"}
    deployment = PartitionedDeployment(**nodes)
    result = select(deployment.worker, call(alternates=4))
    document = deployment.stores[result.partition].find_decision("req-1")
    assert document["hosts"] == 40
    assert len(result.prepared[0].alternates) == 4
    assert {name[0] for name in result.prepared[0].alternates} == {result.partition}


def test_alternates_are_from_the_selected_partition():
    deployment = PartitionedDeployment(
        a={"a1": node(), "a2": node()}, b={"b1": node(ROOMY), "b2": node(), "b3": node()}
    )
    (result,) = select(deployment.worker, call(alternates=5)).prepared
    assert {result.host, *result.alternates} == {"b1", "b2", "b3"}


def test_all_instances_of_a_call_go_to_one_partition():
    deployment = PartitionedDeployment(a={"a1": node(ROOMY)}, b={f"b{number}": node() for number in range(5)})
    result = select(deployment.worker, call(12))  # the best host, a1, has capacity for 8
    assert result.partition == "b"
    assert set(map(tuple, deployment.live().values())) == {("b",)}


def test_request_larger_than_any_partition_is_refused():
    deployment = PartitionedDeployment(a={"a1": node()}, b={"b1": node()})
    with pytest.raises(errors.NoValidHost):
        select(deployment.worker, call(5))
    assert deployment.live() == {}


def test_refusal_counts_hosts_of_all_partitions():
    deployment = PartitionedDeployment(a={"a1": node()}, b={"b1": node(), "b2": node()})
    with pytest.raises(errors.NoValidHost, match="No valid host: 3 not enough VCPU"):
        select(deployment.worker, call(scheduling_request=request({"VCPU": 100})))
    assert deployment.stores["a"].find_decision("req-1")["hosts"] == 3


def test_refusal_counts_rejected_and_lost_hosts():
    deployment = PartitionedDeployment(2, a={"a1": node()}, b={"b1": node({"VCPU": 1})})
    slow, quick = deployment.workers
    select(quick, call(4, first=10, scheduling_request=request({"VCPU": 2}, force_hosts=("a1",))))
    with pytest.raises(errors.NoValidHost) as caught:
        select(slow, call(scheduling_request=request({"VCPU": 2})))
    assert caught.value.kwargs["reasons"] == {"not enough VCPU": 2}


def fill(worker, first, hosts):
    """Let ``worker`` claim all processors of these hosts of two processors."""
    select(worker, call(len(hosts), first, scheduling_request=request({"VCPU": 2}, force_hosts=tuple(hosts))))


# A call of a single try is refused by the common ranking, which covers all partitions.
@pytest.mark.parametrize("tries", [1, 3])
@pytest.mark.parametrize("other", ["rejected", "unavailable"])
def test_refusal_counts_hosts_of_another_partition_once(tries, other):
    size = {"rejected": 1, "unavailable": 4}[other]
    deployment = PartitionedDeployment(
        a={"a1": node({"VCPU": 2}), "a2": node({"VCPU": 1})},
        b={"b1": node({"VCPU": size}), "b2": node({"VCPU": size})},
    )
    slow = DeploymentWorker(deployment.stores, lambda: deployment.now, max_tries=tries)
    fill(deployment.worker, 10, ["a1"])
    if other == "unavailable":
        deployment.stores["b"].away = True
        slow.partitions.find("b").presence.record_failure()
    # When the only suitable partition refuses
    with pytest.raises(errors.NoValidHost) as caught:
        select(slow, call(scheduling_request=request({"VCPU": 2})))
    claimed = {CLAIMED_MEANWHILE: 1} if tries == 1 else {}
    in_b = {"rejected": {}, "unavailable": {PARTITION_JUST_AWAY: 2}}[other]
    too_small = {1: 1, 3: 2}[tries] + {"rejected": 2, "unavailable": 0}[other]
    assert caught.value.reasons == {"not enough VCPU": too_small, **claimed, **in_b}


def test_refusals_of_two_partitions_by_the_common_ranking_count_its_rejected_hosts_once():
    # Given so many candidates of each partition that neither is ranked alone
    nodes = {
        name: {f"{name}{number:02}": node({"VCPU": 2}) for number in range(20)} | {f"{name}s": node({"VCPU": 1})}
        for name in "ab"
    }
    deployment = PartitionedDeployment(**nodes)
    slow = DeploymentWorker(deployment.stores, lambda: deployment.now, max_tries=1)
    for first, name in ((100, "a"), (200, "b")):
        fill(deployment.worker, first, [host for host in nodes[name] if host != f"{name}s"])
    with pytest.raises(errors.NoValidHost) as caught:
        select(slow, call(scheduling_request=request({"VCPU": 2})))
    assert caught.value.reasons["not enough VCPU"] == 2


def test_refusal_counts_hosts_without_an_audit():
    deployment = PartitionedDeployment(a={"a1": node()}, b={"b1": node({"VCPU": 1})})
    deployment.stores["a"].begin_epoch()
    deployment.worker.follow()
    with pytest.raises(errors.NoValidHost) as caught:
        select(deployment.worker, call())
    assert caught.value.kwargs["reasons"] == {"not audited in this epoch": 1, "not enough VCPU": 1}


def test_candidates_are_hosts_of_one_partition_only():
    deployment = PartitionedDeployment(a={"a1": node(), "a2": node()}, b={"b1": node(), "b2": node()})
    for number in range(8):
        result_ = select(deployment.worker, call(first=number, alternates=15))
        (verdicts,) = [result.verdicts for result in result_.prepared]
        assert set(verdicts) <= {Verdict.FITS}
        assert {name[0] for name in (result_.prepared[0].host, *result_.prepared[0].alternates)} == {result_.partition}
