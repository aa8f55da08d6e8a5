# SPDX-License-Identifier: Apache-2.0
"""Rankings from a solution: the assigned host first, then hosts with capacity beside the batch."""

import numpy as np

from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.drivers.driver import LARGE_REQUEST, MAX_CANDIDATES_LARGE, RankRequest
from scheduler_svc.core.drivers.solver import answers
from scheduler_svc.core.drivers.solver.batch_problem import BatchProblem, HostPick
from scheduler_svc.core.drivers.solver.identical_calls import IdenticalCalls
from scheduler_svc.core.filtering.pipeline import Survivors
from scheduler_svc.core.records import ClaimGroup
from tests.support.scheduler.hosts import request
from tests.support.scheduler.placements import kind, problem, solution

RECORD = {"calls": 1}
SURVIVORS = Survivors(np.ones(3, bool), 3, 5, {"not enough VCPU": 2})


def rankings(placement_problem, batch_solution, *requests, group=None):
    """Return the rankings of a solution; host 0 is "h0", and the scores of each kind's hosts are 3, 2 and 1."""
    names = [f"h{number}" for number in range(len(placement_problem.free))]
    picks = [
        HostPick(
            IdenticalCalls(request(group=group), 1, call_kind.calls, call_kind.sizes),
            call_kind.hosts,
            np.array([3.0, 2.0, 1.0][: len(call_kind.hosts)]),
            1.0,
            SURVIVORS,
        )
        for call_kind in placement_problem.kinds
    ]
    return answers.rankings(BatchProblem(placement_problem, names, picks), batch_solution, requests, RECORD)


def call(count=1):
    return RankRequest(request(), count, 1)


def test_alternates_are_hosts_with_capacity_beside_all_placements():
    placement_problem = problem([[2], [2], [3]], kind([2], [1, 1, 1], calls=(0,)), kind([2], [1, 1, 1], calls=(1,)))
    by_call = rankings(placement_problem, solution([[0, 1, 0], [1, 0, 0]], [[True], [True]]), call(), call())
    assert by_call[0].candidates == [["h1", "h2"]]
    assert by_call[1].candidates == [["h0", "h2"]]


def test_anti_affine_instances_have_alternates_that_no_sibling_got():
    group = ClaimGroup("g", GroupPolicy.ANTI_AFFINITY, 1)
    placement_problem = problem([[2]] * 4, kind([1], [1] * 4, calls=(0,), sizes=(2,)))
    by_call = rankings(placement_problem, solution([[1, 1, 0, 0]], [[True]]), call(2), group=group)
    assert by_call[0].candidates == [["h0", "h2", "h3", "h1"], ["h1", "h3", "h2", "h0"]]


def test_calls_that_are_not_served_have_no_ranking():
    placement_problem = problem([[2]], kind([2], [1], calls=(0, 1)))
    by_call = rankings(placement_problem, solution([[1]], [[False, True]]), call(), call())
    assert list(by_call) == [1]


def test_identical_calls_share_the_placements_of_their_kind():
    placement_problem = problem([[2], [1], [9]], kind([1], [2, 1, 0], calls=(0, 1), sizes=(2, 1)))
    by_call = rankings(placement_problem, solution([[2, 1, 0]], [[True, True]]), call(2), call())
    assert [order[0] for order in by_call[0].candidates] == ["h0", "h0"]
    assert [order[0] for order in by_call[1].candidates] == ["h1"]


def test_instances_of_an_affinity_call_share_one_placement():
    placement_problem = problem([[6], [6]], kind([6], [1, 1], calls=(0,)))
    by_call = rankings(placement_problem, solution([[0, 1]], [[True]]), call(3))
    assert by_call[0].candidates == [["h1", "h0"]] * 3


def test_record_has_the_batch_and_each_assigned_host_once():
    placement_problem = problem([[9], [9], [9]], kind([1], [9, 9, 9], calls=(0,), sizes=(3,)))
    ranking = rankings(placement_problem, solution([[2, 0, 1]], [[True]]), call(3))[0]
    assert ranking.best == [
        {"name": "h0", "score": 3.0, "weights": {}},
        {"name": "h2", "score": 1.0, "weights": {}},
    ]
    assert (ranking.batch, ranking.hosts, ranking.reasons) == (RECORD, 5, {"not enough VCPU": 2})


def test_candidates_are_limited_by_the_number_of_instances():
    size, count = 30, LARGE_REQUEST + 1
    placement_problem = problem([[99]] * size, kind([1], [99] * size, calls=(0,), sizes=(count,)))
    picks = [HostPick(IdenticalCalls(request(), 1, (0,), (count,)), np.arange(size), np.zeros(size), 1.0, SURVIVORS)]
    batch_solution = solution([[count, *[0] * (size - 1)]], [[True]])
    built = BatchProblem(placement_problem, [f"h{number}" for number in range(size)], picks)
    ranking = answers.rankings(built, batch_solution, [call(count)], RECORD)[0]
    assert {len(order) for order in ranking.candidates} == {MAX_CANDIDATES_LARGE}
