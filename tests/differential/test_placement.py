# SPDX-License-Identifier: Apache-2.0
"""OpenStack Placement's allocation candidates and ours, for the same random trees and requests: the same ones."""

import collections
import json
import uuid
from random import Random

import pytest

from devstack.lab.peers import environments
from rpcapi.model.groups import ISOLATE, NONE
from rpcapi.model.tree_search import StepBudget, search
from rpcapi.model.trees import ProviderTree
from scheduler_svc.candidates.ranking import rank
from tests.differential import asking
from tests.property import tree_clouds, trees
from tests.property.test_candidates import DRIVER
from tests.property.tree_clouds import HOSTS, POOLS, TreeCloud, flatten

pytestmark = [pytest.mark.differential, pytest.mark.timeout(3600)]

CLOUDS = 200
REQUESTS = 10  # of each cloud
PLENTY = 10**9
CONTRADICTION = "onflicting"  # in what refuses traits that are required and forbidden: here that is refused earlier


@pytest.fixture(scope="module")
def placement():
    with asking.running(environments.PLACEMENT, "placement_trees_side.py") as peer:
        yield peer


def test_the_candidates_are_those_of_placement(placement):
    random = Random(20)
    tally = collections.Counter()
    for _ in range(CLOUDS):
        cloud = TreeCloud(random)
        placement.ask("load", providers=told(cloud))
        wanted = [trees.tree_request(random, tree_clouds.NAMES) for _ in range(REQUESTS)]
        anchors = (*HOSTS, *POOLS)
        answers = iter(placement.ask("ask", queries=[query(each, anchor) for each in wanted for anchor in anchors]))
        for each in wanted:
            compare(cloud, each, {anchor: next(answers)[0] for anchor in anchors}, tally)
    print(json.dumps(tally, sort_keys=True))
    assert tally["requests that some host serves"] > CLOUDS


def compare(cloud, wanted, theirs, tally):
    refused = [answer for answer in theirs.values() if isinstance(answer, str)]
    if refused:
        assert all(CONTRADICTION in why for why in refused), refused[0]
        tally["refused there, and here before any host is looked at"] += 1
        return
    names = {ident(each.id): each.id for each in cloud.every}
    mended = sums_wrongly(wanted)
    found = {
        anchor: {
            flatten({names[one]: its["resources"] for one, its in allocations.items()})
            for allocations, mappings in answer
            if not mended or are_apart(mappings)
        }
        for anchor, answer in theirs.items()
    }
    tally["requests whose policy was applied here"] += mended
    for anchor, ways in found.items():
        assert {flatten(each.allocations) for each in search(apart(cloud.tree(anchor)), wanted, StepBudget(PLENTY))} == ways
        tally["trees"] += 1
        tally["candidates"] += len(ways)
    asked = tree_clouds.request(wanted)
    with cloud.table().reading() as view:
        ranking = rank(DRIVER, view, asked, 1, 1)
    ours = {host for hosts in ranking.candidates for host in hosts}
    assert ours == {host for host in HOSTS if found[host]}
    assert all(tree_clouds.allocation_of(asked, ranking, 0, host) in found[host] for host in ours)
    tally["requests"] += 1
    tally["requests that some host serves"] += bool(ours)


def sums_wrongly(wanted):
    """Tell whether Placement adds up wrongly: with policy "isolate" where two groups ask for one class.

    Only with policy "none" does it copy the amounts that its candidates have in common before it adds others to them
    (copy_arr_if_needed in 16.0.0), so that they grow from candidate to candidate. Asked with "none" it is right, and
    its mappings tell which candidates are isolated.
    """
    classes = [name for each in wanted.groups for name in each.resources]
    return wanted.policy == ISOLATE and len(set(classes)) < len(classes)


def are_apart(mappings):
    """Tell whether groups with a suffix have providers of their own."""
    alone = [names[0] for suffix, names in mappings.items() if suffix]
    return len(set(alone)) == len(alone)


def apart(tree):
    """Return the tree with providers that are told apart, so that every way is found."""
    return ProviderTree(*([trees.replace(each, symmetry_key=each.id) for each in its] for its in (tree.providers, tree.sharing)))


def ident(name):
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, name))


def anchor_trait(root):
    """Return the trait by which a query is kept to one tree: candidates do not tell whose they are."""
    return f"CUSTOM_ROOT_{root.upper()}"


def told(cloud):
    """Return the providers of a cloud, and what they hold, as Placement has them."""
    every = [
        {
            "uuid": ident(each.id),
            "parent": each.parent and ident(each.parent),
            "root": ident(each.id.partition("/")[0]),
            "inventories": {name: inventory(stock) for name, stock in each.inventories.items()},
            "used": {name: stock.used for name, stock in each.inventories.items()},
            "traits": sorted(each.traits) + ([] if each.parent else [anchor_trait(each.id)]),
            "aggregates": [ident(name) for name in sorted(each.aggregates)],
        }
        for each in cloud.every
    ]
    # Each name that a request may have is there, at a provider of which nothing else is.
    return [*every, spare()]


def spare():
    stocks = {name: inventory(trees.Stock(1)) for name in trees.CLASSES}
    names = {"uuid": ident("spare"), "parent": None, "root": ident("spare")}
    return {**names, "inventories": stocks, "used": dict.fromkeys(stocks, 1), "traits": trees.TRAITS, "aggregates": []}


def inventory(stock):
    figures = {"total": stock.capacity, "reserved": 0, "allocation_ratio": 1.0}
    return figures | {"min_unit": stock.min_unit, "max_unit": stock.max_unit, "step_size": stock.step_size}


def query(wanted, anchor):
    """Return the pairs of the query for what is wanted of one tree."""
    rooted = [anchor_trait(anchor), *wanted.root_required, *(f"!{name}" for name in wanted.root_forbidden)]
    pairs = [("root_required", ",".join(rooted))]
    pairs.append(("group_policy", NONE if sums_wrongly(wanted) else wanted.policy))
    pairs += [("same_subtree", ",".join(f"_{name}" for name in names)) for names in wanted.same_subtree]
    for each in wanted.groups:
        suffix = each.suffix and f"_{each.suffix}"
        if each.resources:
            pairs.append((f"resources{suffix}", ",".join(f"{name}:{n}" for name, n in each.resources.items())))
        traits = [*each.required, *(f"!{name}" for name in each.forbidden)]
        if traits:
            pairs.append((f"required{suffix}", ",".join(traits)))
        pairs += [(f"required{suffix}", "in:" + ",".join(names)) for names in each.any_of]
        pairs += [(f"member_of{suffix}", "in:" + ",".join(map(ident, names))) for names in each.member_of]
        if each.forbidden_aggregates:
            pairs.append((f"member_of{suffix}", "!in:" + ",".join(map(ident, each.forbidden_aggregates))))
        if each.in_tree is not None:
            pairs.append((f"in_tree{suffix}", ident(each.in_tree)))
    return pairs
