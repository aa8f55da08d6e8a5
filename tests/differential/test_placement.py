# SPDX-License-Identifier: Apache-2.0
"""OpenStack Placement and gantt have the same allocation candidates for random trees and requests."""

import collections
import json
import uuid
from random import Random

import pytest

from devstack.lab.peers import side
from rpcapi.resources.groups import ISOLATE, NONE
from rpcapi.resources.trees.search import StepBudget, search
from rpcapi.resources.trees.tree import ProviderInventory, ProviderTree
from scheduler_svc.core.trees.ranking import rank
from tests.differential import asking
from tests.support.clouds import tree_clouds, trees
from tests.support.clouds.filtering import DRIVER
from tests.support.clouds.tree_clouds import HOSTS, POOLS, TreeCloud, flatten

pytestmark = [pytest.mark.differential, pytest.mark.timeout(3600)]

CLOUDS = 200
REQUESTS = 10  # per cloud
PLENTY = 10**9
CONTRADICTION = "onflicting"  # in Placement's error for required and forbidden traits; gantt refuses them earlier


@pytest.fixture(scope="module")
def placement():
    with asking.running(side.INSIDE / "placement_side.py") as peer:
        yield peer


def test_candidates_equal_placement(placement):
    random = Random(20)
    tally = collections.Counter()
    for _ in range(CLOUDS):
        cloud = TreeCloud(random)
        placement.ask("load", providers=to_placement(cloud))
        requests = [trees.tree_request(random, tree_clouds.NAMES) for _ in range(REQUESTS)]
        anchors = (*HOSTS, *POOLS)
        answers = iter(
            placement.ask(
                "ask", queries=[query(tree_request, anchor) for tree_request in requests for anchor in anchors]
            )
        )
        for tree_request in requests:
            compare(cloud, tree_request, {anchor: next(answers)[0] for anchor in anchors}, tally)
    print(json.dumps(tally, sort_keys=True))
    assert tally["requests with candidates"] > CLOUDS


def compare(cloud, tree_request, answers, tally):
    refused = [answer for answer in answers.values() if isinstance(answer, str)]
    if refused:
        assert all(CONTRADICTION in why for why in refused), refused[0]
        tally["refused by both"] += 1
        return
    names = {ident(provider.id): provider.id for provider in cloud.providers}
    recheck_isolation = has_wrong_sums(tree_request)
    candidates = {
        anchor: {
            flatten({names[provider]: allocation["resources"] for provider, allocation in allocations.items()})
            for allocations, mappings in answer
            if not recheck_isolation or are_isolated(mappings)
        }
        for anchor, answer in answers.items()
    }
    tally["requests with policy applied to the results"] += recheck_isolation
    for anchor, expected in candidates.items():
        assert {
            flatten(candidate.allocations)
            for candidate in search(without_symmetry(cloud.tree(anchor)), tree_request, StepBudget(PLENTY))
        } == expected
        tally["trees"] += 1
        tally["candidates"] += len(expected)
    request = tree_clouds.request(tree_request)
    with cloud.table().reading() as view:
        ranking = rank(DRIVER, view, request, 1, 1)
    ranked_hosts = {host for hosts in ranking.candidates for host in hosts}
    assert ranked_hosts == {host for host in HOSTS if candidates[host]}
    assert all(tree_clouds.allocation_of(request, ranking, 0, host) in candidates[host] for host in ranked_hosts)
    tally["requests"] += 1
    tally["requests with candidates"] += bool(ranked_hosts)


def has_wrong_sums(tree_request):
    """Return whether Placement computes wrong sums: with policy "isolate" if two groups request the same class.

    Only with policy "none" it copies amounts shared by candidates before adding to them (copy_arr_if_needed in 16.0.0);
    otherwise they grow from candidate to candidate. With "none" its sums are right, and its mappings show which
    candidates are isolated.
    """
    classes = [name for group in tree_request.groups for name in group.resources]
    return tree_request.policy == ISOLATE and len(set(classes)) < len(classes)


def are_isolated(mappings):
    """Return whether all groups with a suffix have different providers."""
    providers = [names[0] for suffix, names in mappings.items() if suffix]
    return len(set(providers)) == len(providers)


def without_symmetry(tree):
    """Return the tree without equivalent providers, so that the search returns every candidate."""
    return ProviderTree(
        *(
            [trees.replace(provider, symmetry_key=provider.id) for provider in providers]
            for providers in (tree.providers, tree.sharing)
        )
    )


def ident(name):
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, name))


def anchor_trait(root):
    """Return the trait that restricts a query to one tree, since candidates do not name their tree."""
    return f"CUSTOM_ROOT_{root.upper()}"


def to_placement(cloud):
    """Return the providers of a cloud and their usage in Placement's form."""
    placement_providers = [
        {
            "uuid": ident(provider.id),
            "parent": provider.parent and ident(provider.parent),
            "root": ident(provider.id.partition("/")[0]),
            "inventories": {name: inventory(stock) for name, stock in provider.inventories.items()},
            "used": {name: stock.used for name, stock in provider.inventories.items()},
            "traits": sorted(provider.traits) + ([] if provider.parent else [anchor_trait(provider.id)]),
            "aggregates": [ident(name) for name in sorted(provider.aggregates)],
        }
        for provider in cloud.providers
    ]
    # An unrelated provider has all names that a request may use, so that Placement knows them.
    return [*placement_providers, spare()]


def spare():
    stocks = {name: inventory(ProviderInventory(1)) for name in trees.CLASSES}
    names = {"uuid": ident("spare"), "parent": None, "root": ident("spare")}
    return {**names, "inventories": stocks, "used": dict.fromkeys(stocks, 1), "traits": trees.TRAITS, "aggregates": []}


def inventory(stock):
    figures = {"total": stock.capacity, "reserved": 0, "allocation_ratio": 1.0}
    return figures | {"min_unit": stock.min_unit, "max_unit": stock.max_unit, "step_size": stock.step_size}


def query(tree_request, anchor):
    """Return the query parameters of a request for one tree."""
    rooted = [anchor_trait(anchor), *tree_request.root_required, *(f"!{name}" for name in tree_request.root_forbidden)]
    pairs = [("root_required", ",".join(rooted))]
    pairs.append(("group_policy", NONE if has_wrong_sums(tree_request) else tree_request.policy))
    pairs += [("same_subtree", ",".join(f"_{name}" for name in names)) for names in tree_request.same_subtree]
    for group in tree_request.groups:
        suffix = group.suffix and f"_{group.suffix}"
        if group.resources:
            pairs.append((f"resources{suffix}", ",".join(f"{name}:{n}" for name, n in group.resources.items())))
        traits = [*group.required, *(f"!{name}" for name in group.forbidden)]
        if traits:
            pairs.append((f"required{suffix}", ",".join(traits)))
        pairs += [(f"required{suffix}", "in:" + ",".join(names)) for names in group.any_of]
        pairs += [(f"member_of{suffix}", "in:" + ",".join(map(ident, names))) for names in group.member_of]
        if group.forbidden_aggregates:
            pairs.append((f"member_of{suffix}", "!in:" + ",".join(map(ident, group.forbidden_aggregates))))
        if group.in_tree is not None:
            pairs.append((f"in_tree{suffix}", ident(group.in_tree)))
    return pairs
