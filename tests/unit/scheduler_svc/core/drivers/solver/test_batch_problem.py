# SPDX-License-Identifier: Apache-2.0
"""The placement problem of a batch: identical calls are grouped, and hosts become columns."""

import pytest

from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.built_in import DEFAULT_FILTERS
from scheduler_svc.core.drivers.driver import RankRequest
from scheduler_svc.core.drivers.filter import FilterDriver
from scheduler_svc.core.drivers.solver import batch_problem, identical_calls
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.records import ClaimGroup
from scheduler_svc.core.weighers import scoring
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node, request

DRIVER = FilterDriver(pipeline.build(DEFAULT_FILTERS), scoring.build({"CPUWeigher": 1.0}))
NODES = {f"h{number}": node({"VCPU": size}) for number, size in enumerate((2, 4, 6, 8))}
USED = {"h3": {"VCPU": 1}}


def call(vcpus, count=1, **fields):
    scheduling_request = request({"VCPU": vcpus}, **fields)
    return RankRequest(scheduling_request, count, 1)


def build(*requests, min_hosts=1, nodes=NODES, used=USED):
    kinds, unbatched = identical_calls.group_identical(requests)
    assert not unbatched
    with hosts.table(nodes, used, DRIVER.reads).reading() as view:
        return batch_problem.build_problem(view, kinds, DRIVER.filters, DRIVER.weigher_set, min_hosts)


def test_kind_gets_its_best_hosts_as_many_as_the_batch_has_placements():
    built = build(call(3, 2))
    assert built.names == ["h2", "h3"]
    assert (built.problem.free.tolist(), built.problem.capacity.tolist()) == ([[6], [7]], [[6], [8]])
    (kind,) = built.problem.kinds
    assert [built.names[host] for host in kind.hosts] == ["h3", "h2"]
    assert (kind.amounts.tolist(), kind.sizes, kind.max_per_host.tolist()) == ([3], (2,), [2, 2])
    assert kind.cost[0] == 0 < kind.cost[1]


@pytest.mark.parametrize(("min_hosts", "names"), [(1, ["h3"]), (3, ["h1", "h2", "h3"]), (9, ["h0", "h1", "h2", "h3"])])
def test_more_hosts_are_kept_on_demand(min_hosts, names):
    assert build(call(1), min_hosts=min_hosts).names == names


def test_host_takes_no_more_placements_than_it_has_capacity_or_the_kind_has():
    (kind,) = build(call(2, 3), min_hosts=4).problem.kinds
    assert kind.max_per_host.tolist() == [3, 3, 2, 1]  # of 7, 6, 4 and 2 processors, best first


def test_kinds_share_hosts_and_have_an_amount_of_every_class():
    nodes = {"h0": node({"VCPU": 8, "DISK_GB": 10}), "h1": node({"VCPU": 8})}
    disk_call = RankRequest(request({"VCPU": 1, "DISK_GB": 5}), 1, 1)
    built = build(disk_call, call(2), nodes=nodes, used={}, min_hosts=2)
    assert built.names == ["h0", "h1"]
    assert built.problem.free.tolist() == [[10, 8], [0, 8]]  # the classes are in alphabetical order
    assert [kind.amounts.tolist() for kind in built.problem.kinds] == [[5, 1], [0, 2]]
    assert [sorted(kind.hosts.tolist()) for kind in built.problem.kinds] == [[0], [0, 1]]


def test_calls_that_no_host_takes_are_refused_with_reasons():
    built = build(call(99), call(1))
    assert list(built.refused_rankings) == [0]
    assert (built.refused_rankings[0].hosts, built.refused_rankings[0].reasons) == (4, {"not enough VCPU": 4})
    assert [kind.calls for kind in built.problem.kinds] == [(1,)]


def test_affinity_call_that_no_host_takes_as_a_whole_is_a_kind_without_hosts():
    (kind,) = build(call(3, 3, group=ClaimGroup("g", GroupPolicy.AFFINITY))).problem.kinds
    assert (kind.amounts.tolist(), kind.hosts.tolist()) == ([9], [])


def test_rule_of_a_group_counts_the_members_of_each_host():
    group = ClaimGroup("g", GroupPolicy.ANTI_AFFINITY, 2)
    grouped_call = call(1, group=group).request.with_decision(members={"h3": 1, "elsewhere": 4})
    built = build(RankRequest(grouped_call, 1, 1), min_hosts=2)
    (rule,) = built.problem.rules
    assert (rule.kinds, rule.member_counts.tolist(), rule.max_members) == ((0,), [0, 1], 2)


@pytest.mark.parametrize(
    ("policy", "anti_affinity"), [(GroupPolicy.SOFT_ANTI_AFFINITY, True), (GroupPolicy.SOFT_AFFINITY, False)]
)
def test_soft_groups_have_rules_without_a_limit(policy, anti_affinity):
    (rule,) = build(call(1, group=ClaimGroup("g", policy))).problem.rules
    assert (rule.max_members, rule.anti_affinity) == (None, anti_affinity)


def test_batch_without_calls_is_empty():
    built = build()
    assert (built.problem.calls, built.problem.columns, built.names) == (0, 0, [])
