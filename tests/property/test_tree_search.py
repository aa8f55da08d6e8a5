# SPDX-License-Identifier: Apache-2.0
"""The exact search in a provider tree, against an oracle that tries every combination."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from rpcapi.model.tree_search import NoCandidateReason, StepBudget, find_first, match_allocations, search
from tests.property import trees
from tests.property.trees import all_candidates

NAMES = ("root", "root/1", "pool0", "nowhere")
PLENTY = 10**9


@st.composite
def trees_and_requests(draw, marked=False):
    """Return a tree, and what is wanted of it."""
    random = Random(draw(st.integers(0, 2**32)))
    return trees.tree(random, marked=marked), trees.tree_request(random, NAMES)


def freeze(found):
    return frozenset((name, *item) for name, amounts in found.allocations.items() for item in amounts.items())


@settings(max_examples=200, deadline=None)
@given(trees_and_requests())
def test_something_is_found_where_anything_is_right_and_all_that_is_found_is_right(question):
    tree, wanted = question
    right = {(freeze(each), tuple(sorted(each.providers.items()))) for each in all_candidates(tree, wanted)}
    found = list(search(tree, wanted, StepBudget(PLENTY)))
    assert bool(found) == bool(right)
    for each in found:
        told = {suffix: tuple(sorted(names)) for suffix, names in each.providers.items()}
        assert (freeze(each), tuple(sorted(told.items()))) in right
    assert len(found) == len({(freeze(each), tuple(sorted(each.providers.items()))) for each in found})


@settings(max_examples=150, deadline=None)
@given(trees_and_requests(marked=True))
def test_every_allocation_is_found_where_providers_are_told_apart(question):
    tree, wanted = question
    found = {freeze(each) for each in search(tree, wanted, StepBudget(PLENTY))}
    assert found == {freeze(each) for each in all_candidates(tree, wanted)}


@settings(max_examples=200, deadline=None)
@given(trees_and_requests(), st.integers(0, 20))
def test_a_search_ends_within_its_steps_and_says_so(question, limit):
    tree, wanted = question
    steps = StepBudget(limit)
    outcome = find_first(tree, wanted, steps)
    assert steps.remaining >= -1
    if outcome is NoCandidateReason.NONE:
        assert not list(all_candidates(tree, wanted))
    assert (outcome is NoCandidateReason.STEPS) == steps.exhausted


@settings(max_examples=200, deadline=None)
@given(trees_and_requests(), st.randoms())
def test_what_is_accepted_is_the_first_that_may_be(question, random):
    tree, wanted = question
    every = list(search(tree, wanted, StepBudget(PLENTY)))
    outcome = find_first(tree, wanted, StepBudget(PLENTY), accept=lambda found: False)
    assert outcome is (NoCandidateReason.REFUSED if every else NoCandidateReason.NONE)
    if every:
        wish = random.choice(every)
        assert find_first(tree, wanted, StepBudget(PLENTY), accept=lambda found: found == wish) == wish


@settings(max_examples=150, deadline=None)
@given(trees_and_requests())
def test_who_serves_which_group_is_found_again_from_the_sums(question):
    tree, wanted = question
    inside = {each.id for each in tree.providers}
    for each in search(tree, wanted, StepBudget(PLENTY)):
        if not set().union(*each.providers.values()) <= inside | each.allocations.keys():
            continue  # somebody elsewhere was used of whom nothing was taken
        again = list(match_allocations(tree, wanted, each.allocations, StepBudget(PLENTY)))
        assert again
        assert all(freeze(one) == freeze(each) for one in again)
