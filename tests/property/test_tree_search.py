# SPDX-License-Identifier: Apache-2.0
"""The exact search in a provider tree, compared with an oracle that tries every combination."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from rpcapi.resources.trees.matching import match_allocations
from rpcapi.resources.trees.search import NoCandidateReason, StepBudget, find_first, search
from tests.support.clouds import trees
from tests.support.clouds.trees import all_candidates

NAMES = ("root", "root/1", "pool0", "nowhere")
PLENTY = 10**9


@st.composite
def trees_and_requests(draw, marked=False):
    """Return a provider tree and a tree request."""
    random = Random(draw(st.integers(0, 2**32)))
    return trees.tree(random, marked=marked), trees.tree_request(random, NAMES)


def mapped(candidate):
    """Return the allocations and the providers of each group."""
    return sorted(freeze(candidate)), {suffix: sorted(names) for suffix, names in sorted(candidate.providers.items())}


def freeze(candidate):
    return frozenset((name, *item) for name, amounts in candidate.allocations.items() for item in amounts.items())


@settings(max_examples=200, deadline=None)
@given(trees_and_requests())
def test_search_finds_valid_candidates_if_there_are_any(tree_and_request):
    tree, tree_request = tree_and_request
    valid_candidates = {
        (freeze(candidate), tuple(sorted(candidate.providers.items())))
        for candidate in all_candidates(tree, tree_request)
    }
    candidates = list(search(tree, tree_request, StepBudget(PLENTY)))
    assert bool(candidates) == bool(valid_candidates)
    for candidate in candidates:
        providers = {suffix: tuple(sorted(names)) for suffix, names in candidate.providers.items()}
        assert (freeze(candidate), tuple(sorted(providers.items()))) in valid_candidates
    assert len(candidates) == len(
        {(freeze(candidate), tuple(sorted(candidate.providers.items()))) for candidate in candidates}
    )


@settings(max_examples=150, deadline=None)
@given(trees_and_requests(marked=True))
def test_search_finds_every_allocation_of_marked_providers(tree_and_request):
    tree, tree_request = tree_and_request
    allocations = {freeze(candidate) for candidate in search(tree, tree_request, StepBudget(PLENTY))}
    assert allocations == {freeze(candidate) for candidate in all_candidates(tree, tree_request)}


@settings(max_examples=150, deadline=None)
@given(trees_and_requests())
def test_unpruned_search_yields_each_candidate_once(tree_and_request):
    tree, tree_request = tree_and_request
    candidates = [mapped(candidate) for candidate in search(tree, tree_request, StepBudget(PLENTY), prune=False)]
    assert sorted(candidates, key=repr) == sorted(map(mapped, all_candidates(tree, tree_request)), key=repr)


@settings(max_examples=200, deadline=None)
@given(trees_and_requests(), st.integers(0, 20))
def test_search_ends_within_its_step_budget_and_reports_it(tree_and_request, limit):
    tree, tree_request = tree_and_request
    steps = StepBudget(limit)
    outcome = find_first(tree, tree_request, steps)
    assert steps.remaining >= -1
    if outcome is NoCandidateReason.NONE:
        assert not list(all_candidates(tree, tree_request))
    assert (outcome is NoCandidateReason.UNDECIDED) == steps.exhausted


@settings(max_examples=150, deadline=None)
@given(trees_and_requests())
def test_group_providers_are_retraced_from_allocations(tree_and_request):
    tree, tree_request = tree_and_request
    inside = {candidate.id for candidate in tree.providers}
    for candidate in search(tree, tree_request, StepBudget(PLENTY)):
        if not set().union(*candidate.providers.values()) <= inside | candidate.allocations.keys():
            continue  # a provider outside the tree serves a group without resources
        retraced_candidates = list(match_allocations(tree, tree_request, candidate.allocations, StepBudget(PLENTY)))
        assert retraced_candidates
        assert all(freeze(retraced_candidate) == freeze(candidate) for retraced_candidate in retraced_candidates)
