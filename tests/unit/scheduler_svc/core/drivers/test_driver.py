# SPDX-License-Identifier: Apache-2.0
"""What every driver does: seeded rankings, many instances in one pass, group policies; and the defaults of drivers."""

from collections import Counter

import pytest

from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.drivers.chance import ChanceDriver
from scheduler_svc.core.drivers.driver import (
    LARGE_REQUEST,
    MAX_CANDIDATES,
    MAX_CANDIDATES_LARGE,
    BatchRanking,
    Driver,
    Ranking,
    RankRequest,
    max_candidates,
)
from scheduler_svc.core.drivers.filter import REASON_COUNT
from scheduler_svc.core.records import ClaimGroup
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node, request
from tests.unit.scheduler_svc.core.drivers.rankings import (
    FILTERS,
    GRADED_HOSTS,
    IDENTICAL_HOSTS,
    ONE_VCPU,
    filter_driver,
    rank,
)

DRIVERS = pytest.mark.parametrize("driver", [filter_driver(), ChanceDriver(FILTERS)], ids=["filter", "chance"])


@DRIVERS
def test_ranking_is_determined_by_the_seed(driver):
    draws = [rank(driver, IDENTICAL_HOSTS, request(ONE_VCPU), seed=seed).candidates for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


@DRIVERS
def test_identical_hosts_are_selected_equally_often(driver):
    firsts = Counter(
        rank(driver, IDENTICAL_HOSTS, request(ONE_VCPU), seed=seed).candidates[0][0] for seed in range(800)
    )
    assert len(firsts) == 40
    assert max(firsts.values()) < 60  # 20 expected each


@DRIVERS
def test_no_passing_host_returns_reasons_and_no_candidates(driver):
    ranking = rank(driver, GRADED_HOSTS, request({"VCPU": 41}))
    assert not ranking.candidates
    assert ranking.reasons == {"not enough VCPU": 40}


@DRIVERS
def test_many_instances_never_take_more_than_a_host_has(driver):
    ranking = rank(driver, IDENTICAL_HOSTS, request({"VCPU": 2}), count=80)
    assert Counter(candidates[0] for candidates in ranking.candidates) == dict.fromkeys(IDENTICAL_HOSTS, 2)


@DRIVERS
def test_more_instances_than_capacity_are_refused(driver):
    ranking = rank(driver, IDENTICAL_HOSTS, request({"VCPU": 2}), count=81)
    assert not ranking.candidates
    assert ranking.reasons == {REASON_COUNT: 40}


@DRIVERS
def test_anti_affinity_limits_instances_per_host(driver):
    scheduling_request = request(ONE_VCPU, group=ClaimGroup("g", GroupPolicy.ANTI_AFFINITY, 2))
    ranking = rank(driver, IDENTICAL_HOSTS, scheduling_request, count=80)
    assert set(Counter(candidates[0] for candidates in ranking.candidates).values()) == {2}
    assert not rank(driver, IDENTICAL_HOSTS, scheduling_request, count=81).candidates


@DRIVERS
def test_affinity_ranks_hosts_that_fit_all_instances(driver):
    nodes = {"small": node({"VCPU": 5}), "large": node({"VCPU": 6}), "larger": node({"VCPU": 7})}
    scheduling_request = request({"VCPU": 2}, group=ClaimGroup("g", GroupPolicy.AFFINITY))
    ranking = rank(driver, nodes, scheduling_request, count=3)
    assert ranking.candidates == [ranking.candidates[0]] * 3
    assert set(ranking.candidates[0]) == {"large", "larger"}
    refused = rank(driver, nodes, scheduling_request, count=4)
    assert (refused.candidates or [], refused.reasons) == ([], {REASON_COUNT: 3})


@DRIVERS
def test_large_request_gets_fewer_candidates_per_instance(driver):
    ranking = rank(driver, IDENTICAL_HOSTS, request(ONE_VCPU), count=LARGE_REQUEST + 1)
    assert {len(candidates) for candidates in ranking.candidates} == {MAX_CANDIDATES_LARGE}


def test_number_of_candidates_depends_on_the_number_of_instances():
    assert [max_candidates(count) for count in (1, LARGE_REQUEST, LARGE_REQUEST + 1)] == [
        MAX_CANDIDATES,
        MAX_CANDIDATES,
        MAX_CANDIDATES_LARGE,
    ]


class FakeDriver(Driver):
    """A driver with the defaults of the interface."""

    def rank(self, view, request, count, seed):
        return Ranking([["a"]] * count, view.size, {})


def test_driver_without_batches_leaves_every_call_to_be_decided_on_its_own():
    driver = FakeDriver()
    requests = [RankRequest(request(), 1, seed) for seed in range(3)]
    with hosts.table({"a": node()}).reading() as view:
        pending = driver.rank_batch(view, requests)
    assert pending() == BatchRanking([None, None, None], {})
    assert not driver.batches(request())


def test_driver_without_filters_has_no_samples_of_rejected_hosts():
    with hosts.table({"a": node()}).reading() as view:
        assert FakeDriver().survey(view, request({"VCPU": 99})).samples(view) == {}
        samples = filter_driver().survey(view, request({"VCPU": 99})).samples(view)
    assert samples == {"not enough VCPU": ["a"]}
