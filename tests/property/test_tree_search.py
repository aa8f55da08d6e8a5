# SPDX-License-Identifier: Apache-2.0
"""The exact search in a provider tree, against an oracle that tries every combination."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from rpcapi.model.tree_search import Miss, Steps, first, retraced, search
from tests.property import trees
from tests.property.trees import every_way

NAMES = ("root", "root/1", "pool0", "nowhere")
PLENTY = 10**9


@st.composite
def questions(draw, marked=False):
    """Return a tree, and what is wanted of it."""
    random = Random(draw(st.integers(0, 2**32)))
    return trees.tree(random, marked=marked), trees.wanted(random, NAMES)


def frozen(found):
    return frozenset((name, *item) for name, amounts in found.allocations.items() for item in amounts.items())


@settings(max_examples=200, deadline=None)
@given(questions())
def test_something_is_found_where_anything_is_right_and_all_that_is_found_is_right(question):
    tree, wanted = question
    right = {(frozen(each), tuple(sorted(each.providers.items()))) for each in every_way(tree, wanted)}
    found = list(search(tree, wanted, Steps(PLENTY)))
    assert bool(found) == bool(right)
    for each in found:
        told = {suffix: tuple(sorted(names)) for suffix, names in each.providers.items()}
        assert (frozen(each), tuple(sorted(told.items()))) in right
    assert len(found) == len({(frozen(each), tuple(sorted(each.providers.items()))) for each in found})


@settings(max_examples=150, deadline=None)
@given(questions(marked=True))
def test_every_allocation_is_found_where_providers_are_told_apart(question):
    tree, wanted = question
    found = {frozen(each) for each in search(tree, wanted, Steps(PLENTY))}
    assert found == {frozen(each) for each in every_way(tree, wanted)}


@settings(max_examples=200, deadline=None)
@given(questions(), st.integers(0, 20))
def test_a_search_ends_within_its_steps_and_says_so(question, limit):
    tree, wanted = question
    steps = Steps(limit)
    outcome = first(tree, wanted, steps)
    assert steps.left >= -1
    if outcome is Miss.NONE:
        assert not list(every_way(tree, wanted))
    assert (outcome is Miss.STEPS) == steps.spent


@settings(max_examples=200, deadline=None)
@given(questions(), st.randoms())
def test_what_is_accepted_is_the_first_that_may_be(question, random):
    tree, wanted = question
    every = list(search(tree, wanted, Steps(PLENTY)))
    outcome = first(tree, wanted, Steps(PLENTY), accept=lambda found: False)
    assert outcome is (Miss.REFUSED if every else Miss.NONE)
    if every:
        wish = random.choice(every)
        assert first(tree, wanted, Steps(PLENTY), accept=lambda found: found == wish) == wish


@settings(max_examples=150, deadline=None)
@given(questions())
def test_who_serves_which_group_is_found_again_from_the_sums(question):
    tree, wanted = question
    inside = {each.id for each in tree.providers}
    for each in search(tree, wanted, Steps(PLENTY)):
        if not set().union(*each.providers.values()) <= inside | each.allocations.keys():
            continue  # somebody elsewhere was used of whom nothing was taken
        again = list(retraced(tree, wanted, each.allocations, Steps(PLENTY)))
        assert again
        assert all(frozen(one) == frozen(each) for one in again)
