# SPDX-License-Identifier: Apache-2.0
"""The solver's solution of a batch, compared with an exhaustive search."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scheduler_svc.core.drivers.solver import greedy
from scheduler_svc.core.drivers.solver.problem import CallKind, GroupRule, PlacementProblem, count_members
from scheduler_svc.core.drivers.solver.solve import solve
from tests.support.scheduler.placements import ample_budget


@st.composite
def problems(draw):
    hosts = draw(st.integers(1, 4))
    free = np.array(draw(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=hosts, max_size=hosts)))
    kinds = []
    calls = iter(draw(st.permutations(range(12))))
    for _ in range(draw(st.integers(1, 3))):
        amounts = np.array(draw(st.tuples(st.integers(1, 4), st.integers(0, 4))))
        fits = [host for host in range(hosts) if (free[host] >= amounts).all()]
        allowed = np.array(draw(st.permutations([host for host in fits if draw(st.booleans())])), np.int64)
        sizes = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=2)))
        max_counts = [int(min(free[host][at] // amounts[at] for at in (0, 1) if amounts[at])) for host in allowed]
        cost = np.sort(draw(st.lists(st.floats(0, 3), min_size=len(allowed), max_size=len(allowed))))
        weight = draw(st.floats(0.1, 1.0))
        order = tuple(next(calls) for _ in sizes)
        kinds.append(
            CallKind(amounts, allowed, np.array(max_counts, np.int64), cost.astype(float), order, sizes, weight)
        )
    rules = []
    if draw(st.booleans()):
        member_counts = np.array(draw(st.lists(st.integers(0, 2), min_size=hosts, max_size=hosts)), np.int64)
        rule_kinds = tuple(draw(st.sets(st.integers(0, len(kinds) - 1), min_size=1)))
        rules.append(GroupRule(rule_kinds, member_counts, draw(st.sampled_from([None, 1, 2])), draw(st.booleans())))
    used = np.array(draw(st.lists(st.integers(0, 3), min_size=hosts, max_size=hosts)), np.int64)
    return PlacementProblem(free.astype(np.int64), free + used[:, None], tuple(kinds), tuple(rules))


# HiGHS 1.16 calls a solution optimal that serves two calls of it.
MISJUDGED = PlacementProblem(
    free=np.array([[7, 3]]),
    capacity=np.array([[7, 3]]),
    kinds=(
        CallKind(np.array([1, 0]), np.array([0]), np.array([7]), np.array([0.0]), (2, 3), (2, 2), 1.0),
        CallKind(np.array([1, 1]), np.array([0]), np.array([3]), np.array([0.0]), (4, 1), (1, 3), 1.0),
        CallKind(np.array([1, 0]), np.array([0]), np.array([7]), np.array([0.0]), (0,), (3,), 1.0),
    ),
    rules=(),
)


def max_served_calls(problem):
    """Return the maximum number of calls that can be served, by trying all subsets and placements."""
    calls = [(kind, size) for kind in range(len(problem.kinds)) for size in problem.kinds[kind].sizes]
    for count in range(len(calls), 0, -1):
        for call_subset in itertools.combinations(calls, count):
            if _can_place(problem, [kind for kind, size in call_subset for _ in range(size)], [], set()):
                return count
    return 0


def _can_place(problem, remaining, placements, visited):
    state = (len(remaining), tuple(sorted(placements)))
    if state in visited:
        return False
    visited.add(state)
    if not remaining:
        return True
    kind, *others = remaining
    for host in problem.kinds[kind].hosts.tolist():
        if _is_valid_placement(problem, [*placements, (kind, host)]) and _can_place(
            problem, others, [*placements, (kind, host)], visited
        ):
            return True
    return False


def _is_valid_placement(problem, placements):
    """Return whether these (kind, host) pairs satisfy capacities and rules; independent of the tested code."""
    for host in {host for _, host in placements}:
        here = [kind for kind, placed_host in placements if placed_host == host]
        for at in range(problem.free.shape[1]):
            if sum(problem.kinds[kind].amounts[at] for kind in here) > problem.free[host][at]:
                return False
        for rule in problem.rules:
            new = sum(kind in rule.kinds for kind in here)
            if rule.max_members is not None and new and rule.member_counts[host] + new > rule.max_members:
                return False
    return True


def as_pairs(problem, solution):
    return [
        (number, int(host))
        for number, kind in enumerate(problem.kinds)
        for host, count in zip(kind.hosts, solution.placements[number], strict=True)
        for _ in range(count)
    ]


@given(problems(), st.booleans())
@example(MISJUDGED, False)
@settings(max_examples=150, deadline=None)
def test_maximum_number_of_calls_is_served(problem, packs):
    result = solve(problem, packs=packs, budget=ample_budget(), seed=1)
    solution = result.solution
    assert _is_valid_placement(problem, as_pairs(problem, solution))
    for kind, counts, served in zip(problem.kinds, solution.placements, solution.served_calls, strict=True):
        assert counts.sum() == sum(itertools.compress(kind.sizes, served))
    assert solution.optimal
    assert solution.calls == max_served_calls(problem) >= result.greedy_calls


@given(problems(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_greedy_placement_is_valid(problem, packs):
    solution = greedy.place(problem, packs)
    assert _is_valid_placement(problem, as_pairs(problem, solution))
    for kind, counts, served in zip(problem.kinds, solution.placements, solution.served_calls, strict=True):
        assert counts.sum() == sum(itertools.compress(kind.sizes, served))


@given(problems(), st.booleans(), st.integers(0, 2**40))
@settings(max_examples=40, deadline=None)
def test_same_seed_gives_the_same_solution(problem, packs, seed):
    first, second = (solve(problem, packs=packs, budget=ample_budget(), seed=seed).solution for _ in range(2))
    assert first.served_calls == second.served_calls
    assert all(
        (counts == other_counts).all() for counts, other_counts in zip(first.placements, second.placements, strict=True)
    )


def single_call_problem(free, empty, *, size, cost, rules=()):
    """Return a problem of one call for ``size`` placements of amount 1 on hosts with ``free`` capacity."""
    free = np.array(free, np.int64).reshape(-1, 1)
    hosts = np.arange(len(free))
    kind = CallKind(np.array([1]), hosts, free[:, 0], np.array(cost, float), (0,), (size,), 0.5)
    return PlacementProblem(free, free + ~np.array(empty)[:, None], (kind,), rules)


def solve_single(problem, packs):
    (counts,) = solve(problem, packs=packs, budget=ample_budget(), seed=1).solution.placements
    return counts.tolist()


def test_packing_avoids_empty_hosts():
    # Given an empty best host, and others with enough capacity together
    problem = single_call_problem([8, 2, 2], [True, False, False], size=4, cost=[0, 5, 5])
    assert solve_single(problem, packs=True) == [0, 2, 2]


def test_spreading_uses_the_best_hosts_evenly():
    problem = single_call_problem([9, 9, 9], [False] * 3, size=6, cost=[0, 0, 3])
    assert solve_single(problem, packs=False) == [3, 3, 0]


@pytest.mark.parametrize("packs", [True, False])
def test_remaining_capacity_is_balanced_between_classes(packs):
    # Given two hosts; the slightly better one for a call has less free of the class that the call uses most
    free, capacity = np.array([[3, 8], [8, 3]]), np.array([[9, 9], [9, 9]])
    host_order, cost = ((0, 1), (1, 0)), np.array([0, 0.05])
    kinds = tuple(
        CallKind(np.array(amounts), np.array(host_order[call]), np.array([1, 1]), cost, (call,), (1,))
        for call, amounts in enumerate([(3, 1), (1, 3)])
    )
    solution = solve(PlacementProblem(free, capacity, kinds), packs=packs, budget=ample_budget(), seed=1).solution
    assert [counts.tolist() for counts in solution.placements] == [[0, 1], [0, 1]]


def test_soft_group_policies_are_satisfied_when_possible():
    member_counts = np.array([0, 0, 1, 0])
    apart = GroupRule((0,), member_counts, None, anti_affinity=True)
    together = GroupRule((0,), member_counts, None, anti_affinity=False)
    free, cost = [3, 3, 3, 3], [0, 0.1, 0.1, 0.2]
    assert solve_single(single_call_problem(free, [False] * 4, size=3, cost=cost, rules=(apart,)), packs=True) == [
        1,
        1,
        0,
        1,
    ]
    assert solve_single(single_call_problem(free, [False] * 4, size=3, cost=cost, rules=(together,)), packs=True) == [
        0,
        0,
        3,
        0,
    ]


def test_most_calls_are_served_when_not_all_can_be():
    # Given one call that takes all capacity and two that share it
    large = CallKind(np.array([4]), np.array([0]), np.array([1]), np.zeros(1), (0,), (1,))
    small = CallKind(np.array([2]), np.array([0]), np.array([2]), np.zeros(1), (1, 2), (1, 1))
    problem = PlacementProblem(np.array([[4]]), np.array([[4]]), (large, small))
    result = solve(problem, packs=True, budget=ample_budget(), seed=1)
    # When the large call comes first, the greedy solution serves only it
    assert result.greedy_calls == 1
    assert result.solution.served_calls == ((False,), (True, True))


def test_without_time_the_greedy_solution_is_returned():
    problem = single_call_problem([2, 2], [False] * 2, size=3, cost=[0, 1])
    result = solve(problem, packs=True, budget=ample_budget(0.0), seed=1)
    assert result.is_greedy
    assert result.solution.placements[0].tolist() == greedy.place(problem, True).placements[0].tolist() == [2, 1]


def test_members_are_counted_over_all_kinds():
    kinds = tuple(CallKind(np.array([1]), np.array([0]), np.array([2]), np.zeros(1), (call,), (2,)) for call in (0, 1))
    problem = PlacementProblem(np.array([[9]]), np.array([[9]]), kinds, (GroupRule((0, 1), np.array([0]), 3),))
    solution = solve(problem, packs=True, budget=ample_budget(), seed=1).solution
    assert count_members(problem, solution, problem.rules[0]).tolist() == [2]
    assert solution.calls == 1
