# SPDX-License-Identifier: Apache-2.0
"""Costs of solutions that serve equally many calls."""

import pytest

from scheduler_svc.core.drivers.solver.model import MipModel
from scheduler_svc.core.drivers.solver.objectives import EVENNESS_COST, SOFT_GROUP_COST, SoftObjectives
from tests.support.scheduler.placements import kind, problem, rule, solution


def cost(placement_problem, *placements, packs=False):
    """Return the cost of these placements with the minimum values of the objectives' columns."""
    model = MipModel(placement_problem)
    objectives = SoftObjectives(model, packs)
    served = [[True] * len(call_kind.calls) for call_kind in placement_problem.kinds]
    values = objectives.complete(model.values(solution(placements, served)))
    return float(objectives.costs() @ values)


FOUR_CALLS = kind([1], [9, 9], calls=(0, 1, 2, 3))


def test_spreading_costs_half_the_square_of_each_hosts_load():
    empty = problem([[9], [9]], FOUR_CALLS)
    assert cost(empty, [2, 2]) == pytest.approx(2 * 2**2 / 2)
    assert cost(empty, [3, 1]) == pytest.approx(3**2 / 2 + 1 / 2)
    assert cost(empty, [4, 0]) == pytest.approx(4**2 / 2)


def test_load_is_in_the_unit_of_the_kinds_weight():
    heavy = problem([[9], [9]], kind([1], [9, 9], calls=(0, 1), weight=3.0))
    assert cost(heavy, [2, 0]) == pytest.approx(6**2 / 2)


def test_spreading_adds_the_current_cost_of_the_host_per_weight():
    better_first = problem([[9], [9]], kind([1], [9, 9], cost=[0.0, 3.0], weight=0.5))
    assert cost(better_first, [0, 1]) - cost(better_first, [1, 0]) == pytest.approx(3.0 * 0.5)


@pytest.mark.parametrize("host_cost", [[0.0, 0.0], [0.0, 50.0], [50.0, 0.0]])
def test_packing_opens_no_host_to_avoid_other_costs(host_cost):
    empty = problem([[9], [9]], kind([1], [9, 9], calls=(0, 1, 2, 3), cost=host_cost))
    assert max(cost(empty, [4, 0], packs=True), cost(empty, [0, 4], packs=True)) < cost(empty, [2, 2], packs=True)


def test_packing_prefers_hosts_in_use_even_if_they_are_worse():
    in_use = problem([[9], [8]], kind([1], [9, 8], cost=[0.0, 50.0]), capacity=[[9], [9]])
    assert cost(in_use, [0, 1], packs=True) < cost(in_use, [1, 0], packs=True)


def test_uneven_free_shares_cost_their_difference():
    # A placement takes half of the processors and a quarter of the memory.
    uneven = problem([[4, 8]], kind([2, 2], [1]))
    even = problem([[4, 4]], kind([2, 2], [1]))
    assert cost(uneven, [1]) - cost(even, [1]) == pytest.approx(EVENNESS_COST * 0.25)


def test_class_that_a_host_lacks_does_not_count_as_uneven():
    without_memory = problem([[4, 0]], kind([2, 0], [1]))
    single_class = problem([[4]], kind([2], [1]))
    assert cost(without_memory, [1]) == pytest.approx(cost(single_class, [1]))


def added_cost(group_rule, *placements):
    """Return what a soft rule adds to the cost of placements on two hosts."""
    with_rule = problem([[9], [9]], FOUR_CALLS, rules=[group_rule])
    return cost(with_rule, *placements) - cost(problem([[9], [9]], FOUR_CALLS), *placements)


@pytest.mark.parametrize(
    ("members", "placements", "violations"),
    [([0, 0], [1, 1], 0), ([0, 0], [3, 1], 2), ([1, 0], [2, 1], 2), ([3, 0], [1, 1], 3)],
)
def test_soft_anti_affinity_costs_each_member_beyond_the_first_of_a_host(members, placements, violations):
    # On a host with members already, a further one costs as much as there are: the third violation counts threefold.
    assert added_cost(rule([0], members), placements) == pytest.approx(SOFT_GROUP_COST * violations)


@pytest.mark.parametrize(
    ("members", "placements", "hosts"),
    [([0, 0], [4, 0], 1), ([0, 0], [2, 2], 2), ([1, 0], [4, 0], 0), ([1, 0], [3, 1], 1)],
)
def test_soft_affinity_costs_each_host_that_gets_its_first_members(members, placements, hosts):
    assert added_cost(rule([0], members, anti_affinity=False), placements) == pytest.approx(SOFT_GROUP_COST * hosts)


def test_hard_rules_cost_nothing():
    assert added_cost(rule([0], [0, 0], 4), [4, 0]) == pytest.approx(0)
