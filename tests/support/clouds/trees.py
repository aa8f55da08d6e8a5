# SPDX-License-Identifier: Apache-2.0
"""Random provider trees and requests, and an oracle that tries all combinations of providers.

Uses ``random.Random``: of requests drawn by Hypothesis too few can be served to test each rule.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import TypeVar

from rpcapi.resources.groups import ISOLATE, NONE, RequestGroup
from rpcapi.resources.trees.tree import AllocationCandidate, Provider, ProviderInventory, ProviderTree, TreeRequest

_Item = TypeVar("_Item")
Shape = tuple[dict[str, ProviderInventory], frozenset[str], frozenset[str]]  # inventories, traits, aggregates
Assignment = tuple[tuple[RequestGroup, Mapping[str, int]], Provider]  # of amounts of a group

CLASSES = ("VCPU", "CUSTOM_GPU", "CUSTOM_VF")
TRAITS = ("CUSTOM_A", "CUSTOM_B", "CUSTOM_C")
AGGREGATES = ("g1", "g2")
SUFFIXES = (("",), ("", "1"), ("1", "2"), ("", "1", "2"), ("1", "2", "3"), ("", "1", "2", "3"))
RULE_PROBABILITY = 0.1  # of each rule in a request; with more rules hardly any request could be served


def some(random: Random, names: Sequence[str], likely: float = 0.5) -> frozenset[str]:
    """Return a random subset of ``names``; each is included with probability ``likely``."""
    return frozenset(name for name in names if random.random() < likely)


def stock(random: Random) -> ProviderInventory:
    """Return a small inventory, occasionally with unit rules."""
    least, step = (random.choice((1, 2)) if random.random() < RULE_PROBABILITY else 1 for _ in range(2))
    most = random.randint(1, 3) if random.random() < RULE_PROBABILITY else 99
    capacity = random.randint(1, 6)
    return ProviderInventory(capacity, random.randint(0, capacity) if random.random() < 0.3 else 0, least, most, step)


def tree(random: Random, *, marked: bool = False) -> ProviderTree:
    """Return a tree of up to six providers, often equal ones, and up to two sharing providers."""
    shapes = [shape(random) for _ in range(2)]
    providers: list[Provider] = []
    for number in range(random.randint(1, 6)):
        parent = random.choice(providers).id if providers else None
        name = f"{parent}/{number}" if parent else "root"
        inventories, traits, aggregates = random.choice(shapes)
        symmetry_key = name if marked else None
        providers.append(Provider(name, parent, inventories, traits, aggregates, symmetry_key))
    pools = [Provider(f"pool{number}", None, *shape(random)) for number in range(random.choice((0, 0, 1, 2)))]
    return ProviderTree(providers, pools)


def shape(random: Random) -> Shape:
    return {name: stock(random) for name in some(random, CLASSES, 0.6)}, some(random, TRAITS), some(random, AGGREGATES)


def group(random: Random, names: Sequence[str]) -> RequestGroup:
    """Return a request group of few classes, with few rules."""

    def seldom(drawn: tuple[_Item, ...]) -> tuple[_Item, ...]:
        return drawn if random.random() < RULE_PROBABILITY else ()

    return RequestGroup(
        resources={name: random.choice((1, 1, 2, 3)) for name in random.sample(CLASSES, random.choice((1, 1, 2)))},
        required=seldom((random.choice(TRAITS),)),
        any_of=seldom((tuple(random.sample(TRAITS, 2)),)),
        forbidden=seldom((random.choice(TRAITS),)),
        member_of=seldom(tuple(tuple(random.sample(AGGREGATES, random.choice((1, 2)))) for _ in range(2))),
        forbidden_aggregates=seldom((random.choice(AGGREGATES),)),
        in_tree=next(iter(seldom((random.choice(names),))), None),
    )


def tree_request(random: Random, names: Sequence[str]) -> TreeRequest:
    """Return a tree request; ``names`` are possible values of ``in_tree``."""
    shapes = [group(random, names) for _ in range(2)]
    groups = [replace(random.choice(shapes), suffix=suffix) for suffix in random.choice(SUFFIXES)]
    suffixes = [request_group.suffix for request_group in groups if request_group.suffix]
    related: list[tuple[str, ...]] = []
    if suffixes and random.random() < 0.5:
        groups.append(RequestGroup("_none", required=(random.choice(TRAITS),)))
        suffixes.append("_none")
        related = [("_none", *random.sample(suffixes[:-1], random.randint(1, len(suffixes) - 1)))]
    elif len(suffixes) > 1 and random.random() < 0.3:
        related = [tuple(random.sample(suffixes, 2))]
    rooted = [(random.choice(TRAITS),) if random.random() < RULE_PROBABILITY else () for _ in range(2)]
    root_required, root_forbidden = rooted
    return TreeRequest(
        tuple(groups), random.choice((NONE, ISOLATE)), root_required, root_forbidden, same_subtree=tuple(related)
    )


def all_candidates(tree: ProviderTree, tree_request: TreeRequest) -> Iterator[AllocationCandidate]:
    """Yield every valid allocation candidate, by trying all combinations of groups and providers."""
    providers = [*tree.providers, *tree.sharing]
    pieces = []
    for group in tree_request.groups:
        if group.suffix:
            pieces.append((group, dict(group.resources)))
        else:
            pieces += [(group, {name: amount}) for name, amount in group.resources.items()]
    for chosen_providers in itertools.product(providers, repeat=len(pieces)):
        assignments = list(zip(pieces, chosen_providers, strict=True))
        if is_valid(tree, tree_request, assignments):
            allocations: dict[str, dict[str, int]] = {}
            by_suffix: dict[str, set[str]] = {}
            for (group, amounts), provider in assignments:
                for name, amount in amounts.items():
                    amounts_of_provider = allocations.setdefault(provider.id, {})
                    amounts_of_provider[name] = amounts_of_provider.get(name, 0) + amount
                by_suffix.setdefault(group.suffix, set()).add(provider.id)
            yield AllocationCandidate(
                allocations, {suffix: tuple(sorted(names)) for suffix, names in by_suffix.items()}
            )


def is_valid(tree: ProviderTree, tree_request: TreeRequest, assignments: Sequence[Assignment]) -> bool:
    """Return whether the assigned providers satisfy the request, by the rules of Placement's documentation."""
    root = tree.providers[0]
    providers_by_suffix: dict[str, list[Provider]] = {}
    for (group, _amounts), provider in assignments:
        providers_by_suffix.setdefault(group.suffix, []).append(provider)
    suffixed_providers = [used[0].id for suffix, used in providers_by_suffix.items() if suffix]
    return (
        set(tree_request.root_required) <= traits_of(root)
        and not set(tree_request.root_forbidden) & traits_of(root)
        and fits(assignments)
        and all(may_serve(tree, group, provider) for (group, _amounts), provider in assignments)
        and all(has_traits(group, providers_by_suffix.get(group.suffix, [root])) for group in tree_request.groups)
        and (tree_request.policy != "isolate" or len(set(suffixed_providers)) == len(suffixed_providers))
        and all(
            in_one_subtree(tree, [providers_by_suffix[suffix][0] for suffix in suffixes])
            for suffixes in tree_request.same_subtree
        )
    )


def fits(assignments: Sequence[Assignment]) -> bool:
    """Return whether each amount satisfies the unit rules, and all amounts of a provider fit together."""
    sums: dict[tuple[str, str], int] = {}
    for (_group, amounts), provider in assignments:
        for name, amount in amounts.items():
            stock = provider.inventories.get(name)
            if stock is None or not (stock.min_unit <= amount <= stock.max_unit) or amount % stock.step_size:
                return False
            sums[provider.id, name] = sums.get((provider.id, name), 0) + amount
            if sums[provider.id, name] > min(stock.capacity - stock.used, stock.max_unit):
                return False
    return True


def may_serve(tree: ProviderTree, group: RequestGroup, provider: Provider) -> bool:
    """Return whether the group may use the provider."""
    root, members = tree.providers[0], {tree_provider.id for tree_provider in tree.providers}
    spanning = [provider] if group.suffix or provider.id not in members else [provider, root]
    barring = [provider] if group.suffix else [provider, root]
    if group.in_tree is None:
        within = True
    elif group.in_tree in members:
        within = provider.id in members
    else:
        within = bool(group.suffix) and provider.id == group.in_tree
    return (
        within
        and not set(group.forbidden) & traits_of(provider)
        and any(all(set(names) & tree_provider.aggregates for names in group.member_of) for tree_provider in spanning)
        and not any(set(group.forbidden_aggregates) & tree_provider.aggregates for tree_provider in barring)
    )


def has_traits(group: RequestGroup, providers: Sequence[Provider]) -> bool:
    """Return whether the providers of a group together have its required traits."""
    traits: set[str] = set().union(*map(traits_of, providers))
    return set(group.required) <= traits and all(set(names) & traits for names in group.any_of)


def traits_of(provider: Provider) -> frozenset[str]:
    """Return a provider's traits, which are known in these trees."""
    assert provider.traits is not None
    return provider.traits


def in_one_subtree(tree: ProviderTree, providers: Sequence[Provider]) -> bool:
    """Return whether one of the providers is an ancestor of all others, or the same."""
    parents = {provider.id: provider.parent for provider in (*tree.providers, *tree.sharing)}

    def above(name: str) -> set[str]:
        parent = parents[name]
        return {name} | (above(parent) if parent else set())

    return any(all(ancestor.id in above(other.id) for other in providers) for ancestor in providers)
