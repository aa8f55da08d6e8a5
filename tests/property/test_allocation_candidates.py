# SPDX-License-Identifier: Apache-2.0
"""All allocation candidates of a table, against an oracle that tries all combinations in every tree."""

from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_svc.placement.model.candidates.finder import CandidateFinder
from scheduler_svc.placement.model.candidates.request import CandidateRequest
from tests.support.clouds import tree_clouds, trees
from tests.support.clouds.tree_clouds import HOSTS, POOLS, TreeCloud, flatten
from tests.support.clouds.trees import all_candidates


class Fresh:
    """A replica that has everything."""

    def require(self):
        return 0


@st.composite
def clouds_and_requests(draw):
    random = Random(draw(st.integers(0, 2**32)))
    tree_request = trees.tree_request(random, tree_clouds.NAMES)
    groups = [
        replace(group, in_tree=group.in_tree and group.in_tree.partition("/")[0]) for group in tree_request.groups
    ]
    return TreeCloud(random), replace(tree_request, groups=groups)


def frozen(allocations, providers):
    return flatten(allocations), frozenset((suffix, frozenset(names)) for suffix, names in providers.items())


def ids(parts):
    """Return the ids of providers that were read in parts."""
    return [name for part in parts for name in part.ids]


def list_candidates(answer, tree_request):
    """Return all candidates of an answer; those of bare roots too."""
    amounts = {}
    for group in tree_request.groups:
        for name, amount in group.resources.items():
            amounts[name] = amounts.get(name, 0) + amount
    bare = [
        frozen({root: amounts}, {group.suffix: (root,) for group in tree_request.groups})
        for root in ids(answer.bare_roots)
    ]
    return bare + [frozen(candidate.allocations, candidate.providers) for candidate in answer.candidates]


@settings(max_examples=300, deadline=None)
@given(clouds_and_requests(), st.integers(1, 4))
def test_candidates_are_all_that_are_valid_each_once(cloud_and_request, limit):
    cloud, tree_request = cloud_and_request
    valid = {
        frozen(candidate.allocations, candidate.providers)
        for anchor in (*HOSTS, *POOLS)
        for candidate in all_candidates(cloud.tree(anchor), tree_request)
    }
    finder = CandidateFinder(cloud.table(), Fresh())
    answer = finder.find(CandidateRequest(tree_request), finder.deadline())
    candidates = list_candidates(answer, tree_request)
    assert len(candidates) == len(valid)
    assert set(candidates) == valid
    used = {name for allocations, _ in candidates for name, _, _ in allocations}
    trees_in_use = {name.partition("/")[0] for name in used}
    # The providers of all trees in use, each once
    assert sorted(ids([*answer.bare_roots, *answer.providers])) == sorted(
        provider.id for provider in cloud.providers if provider.id.partition("/")[0] in trees_in_use
    )
    some = list_candidates(finder.find(CandidateRequest(tree_request, limit), finder.deadline()), tree_request)
    assert len(some) == min(limit, len(valid))
    assert set(some) <= valid
