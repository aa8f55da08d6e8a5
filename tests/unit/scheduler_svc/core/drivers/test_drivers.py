# SPDX-License-Identifier: Apache-2.0
"""Rankings of drivers: best first, seeded random ties, many instances in one pass."""

from collections import Counter

import numpy as np
import pytest

from rpcapi import errors
from rpcapi.resources.claims import GroupPolicy
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.composition import drivers
from scheduler_svc.conf.filters import DEFAULT_FILTERS
from scheduler_svc.core.drivers.chance import ChanceDriver
from scheduler_svc.core.drivers.driver import MAX_CANDIDATES
from scheduler_svc.core.drivers.filter import REASON_COUNT, FilterDriver
from scheduler_svc.core.drivers.random_choice import SeededRandom
from scheduler_svc.core.drivers.spread import spread
from scheduler_svc.core.drivers.top import top_indexes
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.records import ClaimGroup
from scheduler_svc.core.weighers import scoring
from tests.unit.scheduler_svc.fakes import hosts
from tests.unit.scheduler_svc.fakes.hosts import node, request

FILTERS = pipeline.build(DEFAULT_FILTERS)
ONE_VCPU = {"VCPU": 1}
GRADED_HOSTS = {f"h{number:02}": node({"VCPU": number + 1}) for number in range(40)}
IDENTICAL_HOSTS = {f"h{number:02}": node({"VCPU": 4}) for number in range(40)}


def filter_driver(multiplier=1.0, subset=1):
    return FilterDriver(FILTERS, scoring.build({"CPUWeigher": multiplier}), subset)


def rank(driver, nodes, request, count=1, seed=1):
    with hosts.table(nodes).reading() as view:
        return driver.rank(view, request, count, seed)


def group(policy, most=1):
    return ClaimGroup("g", policy, most)


DRIVERS = pytest.mark.parametrize("driver", [filter_driver(), ChanceDriver(FILTERS)], ids=["filter", "chance"])


def test_best_hosts_come_first_limited_to_max_candidates():
    ranking = rank(filter_driver(), GRADED_HOSTS, request(ONE_VCPU))
    assert ranking.candidates == [[f"h{number:02}" for number in range(39, 39 - MAX_CANDIDATES, -1)]]
    assert (ranking.hosts, ranking.reasons) == (40, {})
    assert ranking.best[0] == {"name": "h39", "score": 1.0, "weights": {"CPUWeigher": 1.0}}


def test_a_negative_multiplier_packs():
    assert rank(filter_driver(-1.0), GRADED_HOSTS, request({"VCPU": 10})).candidates[0][:3] == ["h09", "h10", "h11"]


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


def test_host_subset_draws_the_first_candidate_among_the_best():
    firsts = {
        rank(filter_driver(subset=3), GRADED_HOSTS, request(ONE_VCPU), seed=seed).candidates[0][0] for seed in range(60)
    }
    assert firsts == {"h39", "h38", "h37"}


@pytest.mark.parametrize("subset", [1, 3, 40, 1000])
def test_candidates_are_distinct_for_any_host_subset(subset):
    for candidates in rank(filter_driver(subset=subset), GRADED_HOSTS, request(ONE_VCPU), count=5).candidates:
        assert len(set(candidates)) == MAX_CANDIDATES


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


def test_many_instances_are_spread_like_single_decisions():
    """Each instance goes to the best host after the placements before it."""
    nodes = {f"h{number}": node({"VCPU": 10 + 3 * number}) for number in range(8)}
    many = [candidates[0] for candidates in rank(filter_driver(), nodes, request({"VCPU": 3}), count=20).candidates]
    free = {name: 10 + 3 * number for number, name in enumerate(nodes)}
    for name in many:
        assert free[name] == max(free.values())
        free[name] -= 3


def test_identical_hosts_are_filled_evenly():
    ranking = rank(filter_driver(), IDENTICAL_HOSTS, request(ONE_VCPU), count=80)
    assert set(Counter(candidates[0] for candidates in ranking.candidates).values()) == {2}


def test_packing_fills_a_host_before_the_next():
    nodes = {"a": node({"VCPU": 4}), "b": node({"VCPU": 6})}
    ranking = rank(filter_driver(-1.0), nodes, request({"VCPU": 2}), count=5)
    assert [candidates[0] for candidates in ranking.candidates] == ["a", "a", "b", "b", "b"]


@DRIVERS
def test_anti_affinity_limits_instances_per_host(driver):
    scheduling_request = request(ONE_VCPU, group=group(GroupPolicy.ANTI_AFFINITY, 2))
    ranking = rank(driver, IDENTICAL_HOSTS, scheduling_request, count=80)
    assert set(Counter(candidates[0] for candidates in ranking.candidates).values()) == {2}
    assert not rank(driver, IDENTICAL_HOSTS, scheduling_request, count=81).candidates


@DRIVERS
def test_affinity_ranks_hosts_that_fit_all_instances(driver):
    nodes = {"small": node({"VCPU": 5}), "large": node({"VCPU": 6}), "larger": node({"VCPU": 7})}
    scheduling_request = request({"VCPU": 2}, group=group(GroupPolicy.AFFINITY))
    ranking = rank(driver, nodes, scheduling_request, count=3)
    assert ranking.candidates == [ranking.candidates[0]] * 3
    assert set(ranking.candidates[0]) == {"large", "larger"}
    refused = rank(driver, nodes, scheduling_request, count=4)
    assert (refused.candidates or [], refused.reasons) == ([], {REASON_COUNT: 3})


@pytest.mark.parametrize("size", [1, 3, 15, 16, 17, 400, 512, 5000])
def test_top_indexes_returns_the_highest_scores_in_order(size):
    scores = np.random.default_rng(size).integers(0, 300, size).astype(float)
    indexes = top_indexes(scores, 16, SeededRandom(1))
    assert scores[indexes].tolist() == sorted(scores.tolist(), reverse=True)[:16]
    assert len(set(indexes.tolist())) == min(16, size)


def test_ties_at_the_cut_are_drawn_at_random():
    scores = np.array([2.0, *[1.0] * 30])
    rows = {row for seed in range(200) for row in top_indexes(scores, 3, SeededRandom(seed)).tolist()}
    assert rows == set(range(31))


def test_spread_returns_nothing_if_not_all_instances_fit():
    assert spread([1.0, 0.5], [1, 1], steps=[-1.0, -1.0], count=3, subset=1, random=SeededRandom(1)) == []
    assert spread([1.0, 0.5], [2, 1], steps=[-0.4, -0.4], count=3, subset=1, random=SeededRandom(1)) == [
        [0, 1],
        [0, 1],
        [1],
    ]


def test_drivers_are_loaded_by_name(conf):
    scheduler_conf.register_opts(conf)
    assert isinstance(drivers.load(conf)["filter"], FilterDriver)
    conf.set_override("driver", "chance", group="scheduler")
    assert isinstance(drivers.load(conf)["chance"], ChanceDriver)
    conf.set_override("driver", "astrology", group="scheduler")
    with pytest.raises(errors.BadConfiguration, match="no entry point 'astrology'"):
        drivers.load(conf)


@pytest.mark.parametrize("option", ["enabled_filters", "enabled_weighers"])
def test_unknown_names_in_the_options_are_refused(conf, option):
    scheduler_conf.register_opts(conf)
    conf.set_override(option, ["Nonsense"], group="filter_scheduler")
    with pytest.raises(errors.BadConfiguration, match="Nonsense"):
        drivers.load(conf)
