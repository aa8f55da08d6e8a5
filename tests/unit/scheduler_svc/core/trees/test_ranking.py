# SPDX-License-Identifier: Apache-2.0
"""Rankings of hosts whose provider trees fit, with the allocations of each instance."""

import pytest

from rpcapi.resources.claims import GroupPolicy
from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.trees.search import NoCandidateReason
from scheduler_svc.core.drivers.driver import Driver, Ranking
from scheduler_svc.core.records import ClaimGroup
from scheduler_svc.core.trees import finder
from scheduler_svc.core.trees.ranking import REASON_REQUEST_TREES, fit_to_trees, rank
from tests.support.scheduler.hosts import child_provider, node, request, table

GPU = "CUSTOM_GPU"


def cards(host, count):
    """Return a host with this number of child providers with one device each."""
    return {host: node()} | {f"{host}/gpu{number}": child_provider(host, host, {GPU: 1}) for number in range(count)}


def gpu_request(**fields):
    return request({"VCPU": 1}, groups=(RequestGroup("_g", {GPU: 1}),), **fields)


class OrderedDriver(Driver):
    """A driver that ranks all hosts in their order, and counts its rankings; every host seems to take everything."""

    def __init__(self):
        self.rankings = 0

    def rank(self, view, request, count, seed):
        self.rankings += 1
        names = [view.name(row) for row in range(view.size) if view.present[row]]
        return Ranking([names] * count if names else (), view.size, {})


def rank_hosts(nodes, scheduling_request, count=1, driver=None):
    with table(nodes).reading() as view:
        return rank(driver or OrderedDriver(), view, scheduling_request, count, 1)


def test_batch_ranking_is_fitted_to_trees_or_dropped():
    """Given NUMA hosts ranked by their sums, a request that fits no cell must be ranked on its own."""
    cell = child_provider("a", "a", {"VCPU": 4, "MEMORY_MB": 8192})
    nodes = {"a": node({"DISK_GB": 100}), "a/numa0": cell, "a/numa1": cell, "b": node()}
    with table(nodes).reading() as view:
        small = fit_to_trees(view, request(), Ranking([["a", "b"]] * 3, 2, {}))
        assert [list(amounts) for amounts in small.allocations] == [["a"]] * 3
        assert small.allocations[2]["a"].keys() == {"a", "a/numa1"}
        assert fit_to_trees(view, request({"VCPU": 5, "DISK_GB": 1}), Ranking([["a"]], 2, {})) is None
        no_hosts = Ranking((), 2, {"service down": 2})
        assert fit_to_trees(view, request(), no_hosts) is no_hosts


def test_flat_hosts_need_no_allocations():
    driver = OrderedDriver()
    ranking = rank_hosts({"a": node(), "b": node()}, request({"VCPU": 1}), driver=driver)
    assert (ranking.candidates, ranking.allocations, driver.rankings) == ([["a", "b"]], (), 1)


def test_candidates_have_allocations_and_hosts_that_do_not_fit_are_dropped_with_a_reason():
    ranking = rank_hosts(cards("a", 1) | {"b": node()} | cards("c", 2), gpu_request())
    assert ranking.candidates == [["a", "c"]]
    assert ranking.allocations == [
        {"a": {"a": {"VCPU": 1}, "a/gpu0": {GPU: 1}}, "c": {"c": {"VCPU": 1}, "c/gpu0": {GPU: 1}}}
    ]
    assert (ranking.hosts, ranking.reasons) == (3, {"no provider tree fits": 1})


def test_instances_take_the_first_host_with_a_free_provider():
    ranking = rank_hosts(cards("a", 1) | cards("b", 2), gpu_request(), count=3)
    assert [candidates[0] for candidates in ranking.candidates] == ["a", "b", "b"]
    devices = [
        next(name for name in allocations[candidates[0]] if "/" in name)
        for candidates, allocations in zip(ranking.candidates, ranking.allocations, strict=True)
    ]
    assert devices == ["a/gpu0", "b/gpu0", "b/gpu1"]


def test_request_that_does_not_fit_as_a_whole_has_no_candidates():
    ranking = rank_hosts(cards("a", 1) | cards("b", 1) | {"c": node()}, gpu_request(), count=3)
    assert not ranking.candidates
    assert ranking.hosts == 3
    assert ranking.reasons == {"no provider tree fits": 1, REASON_REQUEST_TREES: 2}
    assert ranking.samples == {"no provider tree fits": ["c"]}


def test_hosts_without_a_search_come_before_undecided_ones(monkeypatch):
    """Given steps for one hard search in each round.

    Even amounts never fill a provider of 63, which their sums do not show.
    """
    monkeypatch.setattr(finder, "RESERVED_STEPS", 1)
    monkeypatch.setattr(finder, "COMMON_STEPS", 0)
    monkeypatch.setattr(finder, "FIRST_STEPS", 20)
    groups = tuple(RequestGroup(f"_{number}", {GPU: amount}) for number, amount in enumerate(range(10, 34, 2)))
    hard = {"a": node()} | {f"a/gpu{number}": child_provider("a", "a", {GPU: 63}) for number in range(4)}
    nodes = hard | {"b": node(), "b/gpu": child_provider("b", "b", {GPU: 252})}
    ranking = rank_hosts(nodes, request({"VCPU": 1}, groups=groups, groups_policy="none"))
    assert (ranking.candidates, ranking.reasons) == ([["b"]], {NoCandidateReason.UNDECIDED: 1})


def test_later_search_decides_what_an_earlier_one_did_not(monkeypatch):
    """Given a second instance on "a" that only the second ranking decides, no further round is needed."""
    find_first = finder.find_first
    outcomes = iter([None, NoCandidateReason.UNDECIDED, NoCandidateReason.NONE])

    def find_as_planned(tree, *arguments):
        outcome = next(outcomes) if tree.providers[0].id == "a" else None
        return find_first(tree, *arguments) if outcome is None else outcome

    monkeypatch.setattr(finder, "find_first", find_as_planned)
    ranking = rank_hosts(cards("a", 1) | {"b": node()}, gpu_request(), count=2)
    assert ranking.reasons == {str(NoCandidateReason.NONE): 1, REASON_REQUEST_TREES: 1}


def test_affinity_needs_one_host_for_all_instances():
    group = ClaimGroup("g", GroupPolicy.AFFINITY)
    ranking = rank_hosts(cards("a", 1) | cards("b", 3) | cards("c", 2), gpu_request(group=group), count=2)
    assert ranking.candidates == [["b", "c"]] * 2
    first, second = (allocations["b"] for allocations in ranking.allocations)
    assert not {name for name in first if "/" in name} & {name for name in second if "/" in name}


@pytest.mark.parametrize(("near", "expected"), [(1, 1), (2, 1), (3, 2), (4, 2)])
def test_near_counts_the_remaining_hosts(near, expected):
    nodes = cards("a", 1) | {"b": node()} | cards("c", 1) | {"d": node()}
    with table(nodes).reading() as view:
        ranking = fit_to_trees(view, gpu_request(), Ranking([["a", "b", "c", "d"]], 4, {}, near=near))
    assert (ranking.candidates, ranking.near) == ([["a", "c"]], expected)


def test_ranking_without_candidates_is_returned_as_it_is():
    with table(cards("a", 1)).reading() as view:

        class RefusingDriver(Driver):
            def rank(self, view, request, count, seed):
                return Ranking((), 1, {"service down": 1})

        ranking = rank(RefusingDriver(), view, gpu_request(), 1, 1)
    assert ranking == Ranking((), 1, {"service down": 1})
