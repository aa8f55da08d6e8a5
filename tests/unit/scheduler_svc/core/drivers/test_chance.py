# SPDX-License-Identifier: Apache-2.0
"""The driver 'chance': random hosts among those that pass the filters."""

from collections import Counter

from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.drivers.chance import ChanceDriver
from scheduler_svc.core.drivers.driver import MAX_CANDIDATES
from scheduler_svc.core.records import ClaimGroup
from tests.support.scheduler.hosts import node, request
from tests.unit.scheduler_svc.core.drivers.rankings import FILTERS, GRADED_HOSTS, IDENTICAL_HOSTS, ONE_VCPU, rank

DRIVER = ChanceDriver(FILTERS)


def test_candidates_are_distinct_hosts_that_pass():
    passing = {f"h{number:02}" for number in range(20, 40)}  # the hosts with more than 20 processors
    for seed in range(20):
        ranking = rank(DRIVER, GRADED_HOSTS, request({"VCPU": 21}), seed=seed)
        (candidates,) = ranking.candidates
        assert len(set(candidates)) == len(candidates) == MAX_CANDIDATES
        assert set(candidates) <= passing
        assert (ranking.hosts, ranking.reasons) == (40, {"not enough VCPU": 20})


def test_free_capacity_does_not_make_a_host_more_likely():
    nodes = {"small": node({"VCPU": 1}), "large": node({"VCPU": 1000})}
    firsts = Counter(rank(DRIVER, nodes, request(ONE_VCPU), seed=seed).candidates[0][0] for seed in range(200))
    assert min(firsts["small"], firsts["large"]) > 60  # 100 expected each


def test_instances_of_one_request_are_drawn_independently():
    ranking = rank(DRIVER, IDENTICAL_HOSTS, request(ONE_VCPU), count=10)
    assert len({tuple(candidates) for candidates in ranking.candidates}) == 10


def test_anti_affine_instances_have_alternates_that_no_sibling_got():
    group = ClaimGroup("g", GroupPolicy.ANTI_AFFINITY, 1)
    ranking = rank(DRIVER, IDENTICAL_HOSTS, request(ONE_VCPU, group=group), count=10)
    firsts = {candidates[0] for candidates in ranking.candidates}
    alternates = [candidates[1] for candidates in ranking.candidates]
    assert len(set(alternates)) == 10 and firsts.isdisjoint(alternates)


def test_reads_are_those_of_the_filters_and_there_are_no_weighers():
    assert DRIVER.weighers == ()
    assert {key for host_filter in FILTERS for key in host_filter.reads.get("compute", ())} == DRIVER.reads["compute"]
