# SPDX-License-Identifier: Apache-2.0
"""The search for NUMA guests with devices, on hosts of 8 and 16 cells, compared with an oracle that tries every choice.

Each commit runs a part of the cases; so many commits in a row run all.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from rpcapi.resources.trees.matching import MATCHING_STEPS, match_allocations
from rpcapi.resources.trees.search import NoCandidateReason, StepBudget, find_first
from rpcapi.resources.trees.tree import AllocationCandidate, ProviderTree
from tests.support import stride
from tests.support.clouds.numa_cases import NumaCase, planted_case, random_case

CASES = 2000
COMMITS = 20  # that run all cases
MAX_UNDECIDED = 0.005  # of the cases
SMALL, LARGE, HUGE = 6, 12, 24  # request groups of a case; some of HUGE take an agent more steps than MAX_STEPS

MakeCase = Callable[[Random, int, int], NumaCase]
EVERY_CASE = pytest.param(1, marks=[pytest.mark.long, pytest.mark.timeout(600)])


def count_undecided(make_case: MakeCase, groups: int, step: int) -> int:
    """Search in every ``step``-th case, compare with what is known of it, and count those that the search leaves."""
    undecided = 0
    for number in range(stride.offset(step), CASES, step):
        random = Random(number)
        case = make_case(random, random.choice((8, 16)), groups)
        outcome = find_first(case.tree, case.request, StepBudget(), case.conditions)
        if outcome is NoCandidateReason.UNDECIDED:
            undecided += 1
        elif outcome is NoCandidateReason.NONE:
            assert not case.planted, number
            assert not case.is_feasible(), number
        else:
            assert case.is_valid(outcome), number
            assert matches_as_an_agent(case, outcome), number
    return undecided


def matches_as_an_agent(case: NumaCase, candidate: AllocationCandidate) -> bool:
    """Return whether the agent finds groups for the amounts of a claim, of which it knows no more than the amounts."""
    providers = [replace(provider, inventories={}, symmetry_key=provider.id) for provider in case.tree.providers]
    tree = ProviderTree(providers)
    matches = match_allocations(tree, case.request, candidate.allocations, StepBudget(MATCHING_STEPS), case.conditions)
    match = next(matches, None)
    return match is not None and case.is_valid(match)


@pytest.mark.parametrize("step", [COMMITS, EVERY_CASE])
@pytest.mark.parametrize(("make_case", "groups"), [(random_case, SMALL), (planted_case, LARGE), (planted_case, HUGE)])
def test_search_refuses_no_guest_that_fits(make_case: MakeCase, groups: int, step: int) -> None:
    assert count_undecided(make_case, groups, step) <= math.ceil(MAX_UNDECIDED * CASES / step)


@pytest.mark.parametrize("groups", [SMALL, LARGE])
def test_planted_guests_fit_by_the_oracle(groups: int) -> None:
    for number in range(20):
        random = Random(number)
        assert planted_case(random, random.choice((8, 16)), groups).is_feasible(), number


def test_about_as_many_random_guests_fit_as_do_not() -> None:
    fits = sum(random_case(Random(number), 8, SMALL).is_feasible() for number in range(100))
    assert 30 < fits < 70
