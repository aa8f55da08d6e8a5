# SPDX-License-Identifier: Apache-2.0
"""The driver 'filter': the best hosts first, a host subset, and instances spread one by one."""

from collections import Counter

import pytest

from scheduler_svc.core.drivers.driver import MAX_CANDIDATES
from scheduler_svc.core.drivers.filter import RECORDED_HOSTS
from tests.support.scheduler.hosts import node, request
from tests.unit.scheduler_svc.core.drivers.rankings import GRADED_HOSTS, IDENTICAL_HOSTS, ONE_VCPU, filter_driver, rank


def test_best_hosts_come_first_limited_to_max_candidates():
    ranking = rank(filter_driver(), GRADED_HOSTS, request(ONE_VCPU))
    assert ranking.candidates == [[f"h{number:02}" for number in range(39, 39 - MAX_CANDIDATES, -1)]]
    assert (ranking.hosts, ranking.reasons) == (40, {})
    assert ranking.best[0] == {"name": "h39", "score": 1.0, "weights": {"CPUWeigher": 1.0}}


def test_a_negative_multiplier_packs():
    assert rank(filter_driver(-1.0), GRADED_HOSTS, request({"VCPU": 10})).candidates[0][:3] == ["h09", "h10", "h11"]


def test_host_subset_draws_the_first_candidate_among_the_best():
    firsts = {
        rank(filter_driver(subset=3), GRADED_HOSTS, request(ONE_VCPU), seed=seed).candidates[0][0] for seed in range(60)
    }
    assert firsts == {"h39", "h38", "h37"}


@pytest.mark.parametrize("subset", [1, 3, 40, 1000])
def test_candidates_are_distinct_for_any_host_subset(subset):
    for candidates in rank(filter_driver(subset=subset), GRADED_HOSTS, request(ONE_VCPU), count=5).candidates:
        assert len(set(candidates)) == MAX_CANDIDATES


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


def test_only_the_leading_hosts_are_recorded():
    ranking = rank(filter_driver(), GRADED_HOSTS, request(ONE_VCPU))
    assert [entry["name"] for entry in ranking.best] == [f"h{39 - place}" for place in range(RECORDED_HOSTS)]


@pytest.mark.parametrize(("vcpus", "near"), [(1, 2), (3, 4)])
def test_hosts_within_one_instance_of_the_best_are_near(vcpus, near):
    # An instance of n processors makes the best host as full as the n-th host after it.
    assert rank(filter_driver(), GRADED_HOSTS, request({"VCPU": vcpus})).near == near


def test_no_other_host_is_near_with_a_host_subset_or_several_instances():
    assert rank(filter_driver(subset=3), GRADED_HOSTS, request(ONE_VCPU)).near == 1
    assert rank(filter_driver(), GRADED_HOSTS, request(ONE_VCPU), count=2).near == 1


def test_reads_are_those_of_filters_and_weighers():
    driver = filter_driver()
    assert [weigher.name for weigher in driver.weighers] == ["CPUWeigher"]
    for part in (*driver.filters, *driver.weighers):
        for namespace, keys in part.reads.items():
            assert keys <= driver.reads[namespace]


def place_in_turn(lost_tries: int, requests: int, count: int) -> int:
    """Rank requests on the same table, each with its own seed, and claim in turn; return how many get all their hosts.

    Each of the unlike hosts has capacity for one instance.
    """
    nodes = {f"h{number:04}": node({"VCPU": 2000 + number}) for number in range(1600)}
    driver, claimed_hosts, successes = filter_driver(), set[str](), 0
    for seed in range(requests):
        many = request({"VCPU": 2000}).with_decision(lost_tries=lost_tries)
        ranking = rank(driver, nodes, many, count=count, seed=seed)
        hosts = set[str]()
        for candidates in ranking.candidates:
            hosts |= {next((name for name in candidates if name not in claimed_hosts | hosts), "none")}
        if "none" not in hosts and len(hosts) == count:
            claimed_hosts |= hosts
            successes += 1
    return successes


@pytest.mark.parametrize("count", [1, 40])
def test_requests_that_lost_a_try_do_not_choose_the_same_hosts_again(count):
    assert place_in_turn(1, requests=8, count=count) == 8
    if count > 1:
        assert place_in_turn(0, requests=8, count=count) == 1


def test_request_that_lost_a_try_gets_the_best_of_its_sample():
    driver = filter_driver()
    ranking = rank(driver, GRADED_HOSTS, request(ONE_VCPU).with_decision(lost_tries=1))
    assert ranking.candidates[0] == sorted(ranking.candidates[0], reverse=True)
    assert ranking.hosts == 40


@pytest.mark.parametrize("hosts", [1, 3])
def test_few_hosts_are_all_considered_after_a_lost_try(hosts):
    nodes = {f"h{number}": node({"VCPU": 4}) for number in range(hosts)}
    ranking = rank(filter_driver(), nodes, request(ONE_VCPU).with_decision(lost_tries=2), count=4 * hosts)
    assert Counter(candidates[0] for candidates in ranking.candidates) == dict.fromkeys(nodes, 4)
