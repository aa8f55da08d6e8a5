# SPDX-License-Identifier: Apache-2.0
"""What the solver makes of a batch, against a plain search through everything that could be done."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_svc.drivers.solver import greedy
from scheduler_svc.drivers.solver.problem import CallKind, GroupRule, PlacementProblem, count_members
from scheduler_svc.drivers.solver.solve import solve

LONG_S = 20.0  # far more than such small problems take: all are solved to the end


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
        most = [int(min(free[host][at] // amounts[at] for at in (0, 1) if amounts[at])) for host in allowed]
        cost = np.sort(draw(st.lists(st.floats(0, 3), min_size=len(allowed), max_size=len(allowed))))
        weight = draw(st.floats(0.1, 1.0))
        order = tuple(next(calls) for _ in sizes)
        kinds.append(CallKind(amounts, allowed, np.array(most, np.int64), cost.astype(float), order, sizes, weight))
    rules = []
    if draw(st.booleans()):
        held = np.array(draw(st.lists(st.integers(0, 2), min_size=hosts, max_size=hosts)), np.int64)
        about = tuple(draw(st.sets(st.integers(0, len(kinds) - 1), min_size=1)))
        rules.append(GroupRule(about, held, draw(st.sampled_from([None, 1, 2])), draw(st.booleans())))
    used = np.array(draw(st.lists(st.integers(0, 3), min_size=hosts, max_size=hosts)), np.int64)
    return PlacementProblem(free.astype(np.int64), free + used[:, None], tuple(kinds), tuple(rules))


def max_served_calls(problem):
    """How many calls can be served at all: every subset is tried, and every way to place it."""
    calls = [(kind, size) for kind in range(len(problem.kinds)) for size in problem.kinds[kind].sizes]
    for count in range(len(calls), 0, -1):
        for chosen in itertools.combinations(calls, count):
            if _can_place(problem, [kind for kind, size in chosen for _ in range(size)], [], set()):
                return count
    return 0


def _can_place(problem, left, placed, seen):
    state = (len(left), tuple(sorted(placed)))
    if state in seen:
        return False
    seen.add(state)
    if not left:
        return True
    kind, *others = left
    for host in problem.kinds[kind].hosts.tolist():
        if _is_valid_placement(problem, [*placed, (kind, host)]) and _can_place(
            problem, others, [*placed, (kind, host)], seen
        ):
            return True
    return False


def _is_valid_placement(problem, placed):
    """Are these pairs of kind and host within capacity and every rule? Written apart from what it judges."""
    for host in {host for _, host in placed}:
        here = [kind for kind, each in placed if each == host]
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
@settings(max_examples=150, deadline=None)
def test_as_many_calls_are_served_as_can_be(problem, packs):
    solved = solve(problem, packs=packs, limit_s=LONG_S, seed=1)
    solution = solved.solution
    assert _is_valid_placement(problem, as_pairs(problem, solution))
    for kind, placed, served in zip(problem.kinds, solution.placements, solution.served_calls, strict=True):
        assert placed.sum() == sum(itertools.compress(kind.sizes, served))
    assert solution.optimal
    assert solution.calls == max_served_calls(problem) >= solved.greedy_calls


@given(problems(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_one_after_the_other_keeps_to_what_there_is(problem, packs):
    solution = greedy.place(problem, packs)
    assert _is_valid_placement(problem, as_pairs(problem, solution))
    for kind, placed, served in zip(problem.kinds, solution.placements, solution.served_calls, strict=True):
        assert placed.sum() == sum(itertools.compress(kind.sizes, served))


@given(problems(), st.booleans(), st.integers(0, 2**40))
@settings(max_examples=40, deadline=None)
def test_the_same_seed_gives_the_same(problem, packs, seed):
    first, again = (solve(problem, packs=packs, limit_s=LONG_S, seed=seed).solution for _ in range(2))
    assert first.served_calls == again.served_calls
    assert all((one == other).all() for one, other in zip(first.placements, again.placements, strict=True))


def single_call_problem(free, empty, *, size, cost, rules=()):
    """One call for ``size`` placements of 1 on hosts that have ``free``."""
    free = np.array(free, np.int64).reshape(-1, 1)
    hosts = np.arange(len(free))
    kind = CallKind(np.array([1]), hosts, free[:, 0], np.array(cost, float), (0,), (size,), 0.5)
    return PlacementProblem(free, free + ~np.array(empty)[:, None], (kind,), rules)


def solve_single(problem, packs):
    (placed,) = solve(problem, packs=packs, limit_s=LONG_S, seed=1).solution.placements
    return placed.tolist()


def test_packing_opens_no_empty_host_that_it_can_spare():
    # Given the best host is empty and the others together have room enough
    problem = single_call_problem([8, 2, 2], [True, False, False], size=4, cost=[0, 5, 5])
    assert solve_single(problem, packs=True) == [0, 2, 2]


def test_spreading_takes_the_free_ones_and_evenly():
    problem = single_call_problem([9, 9, 9], [False] * 3, size=6, cost=[0, 0, 3])
    assert solve_single(problem, packs=False) == [3, 3, 0]


@pytest.mark.parametrize("packs", [True, False])
def test_what_is_left_of_a_host_is_left_of_all_classes_alike(packs):
    # Given two hosts, of which the one that is a little better for a call has less left of what it mostly takes
    free, capacity = np.array([[3, 8], [8, 3]]), np.array([[9, 9], [9, 9]])
    better, cost = ((0, 1), (1, 0)), np.array([0, 0.05])
    kinds = tuple(
        CallKind(np.array(amounts), np.array(better[call]), np.array([1, 1]), cost, (call,), (1,))
        for call, amounts in enumerate([(3, 1), (1, 3)])
    )
    solution = solve(PlacementProblem(free, capacity, kinds), packs=packs, limit_s=LONG_S, seed=1).solution
    assert [placed.tolist() for placed in solution.placements] == [[0, 1], [0, 1]]


def test_a_soft_group_is_kept_apart_or_together_where_it_can_be():
    held = np.array([0, 0, 1, 0])
    apart = GroupRule((0,), held, None, anti_affinity=True)
    close = GroupRule((0,), held, None, anti_affinity=False)
    free, cost = [3, 3, 3, 3], [0, 0.1, 0.1, 0.2]
    assert solve_single(single_call_problem(free, [False] * 4, size=3, cost=cost, rules=(apart,)), packs=True) == [
        1,
        1,
        0,
        1,
    ]
    assert solve_single(single_call_problem(free, [False] * 4, size=3, cost=cost, rules=(close,)), packs=True) == [
        0,
        0,
        3,
        0,
    ]


def test_what_cannot_all_be_served_is_served_for_most_calls():
    # Given one call that takes all there is and two that share it
    large = CallKind(np.array([4]), np.array([0]), np.array([1]), np.zeros(1), (0,), (1,))
    small = CallKind(np.array([2]), np.array([0]), np.array([2]), np.zeros(1), (1, 2), (1, 1))
    problem = PlacementProblem(np.array([[4]]), np.array([[4]]), (large, small))
    solved = solve(problem, packs=True, limit_s=LONG_S, seed=1)
    # When the large one came first, one after the other it is served alone
    assert solved.greedy_calls == 1
    assert solved.solution.served_calls == ((False,), (True, True))


def test_without_time_it_is_one_after_the_other():
    problem = single_call_problem([2, 2], [False] * 2, size=3, cost=[0, 1])
    solved = solve(problem, packs=True, limit_s=0.0, seed=1)
    assert solved.is_late
    assert solved.solution.placements[0].tolist() == greedy.place(problem, True).placements[0].tolist() == [2, 1]


def test_members_are_counted_over_kinds():
    kinds = tuple(CallKind(np.array([1]), np.array([0]), np.array([2]), np.zeros(1), (call,), (2,)) for call in (0, 1))
    problem = PlacementProblem(np.array([[9]]), np.array([[9]]), kinds, (GroupRule((0, 1), np.array([0]), 3),))
    solution = solve(problem, packs=True, limit_s=LONG_S, seed=1).solution
    assert count_members(problem, solution, problem.rules[0]).tolist() == [2]
    assert solution.calls == 1
