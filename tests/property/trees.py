# SPDX-License-Identifier: Apache-2.0
"""Random provider trees and requests, and an oracle that tries every way to serve one.

Drawn from ``random.Random``: of what Hypothesis draws by itself too few requests can be served to try each rule.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from rpcapi.model.groups import ISOLATE, NONE, RequestGroup
from rpcapi.model.trees import AllocationCandidate, Provider, ProviderInventory, ProviderTree, TreeRequest

CLASSES = ("VCPU", "CUSTOM_GPU", "CUSTOM_VF")
TRAITS = ("CUSTOM_A", "CUSTOM_B", "CUSTOM_C")
AGGREGATES = ("g1", "g2")
SUFFIXES = (("",), ("", "1"), ("1", "2"), ("", "1", "2"), ("1", "2", "3"), ("", "1", "2", "3"))
RULE_PROBABILITY = 0.1  # of each rule that a request may have: more, and none could be served


def some(random: Random, names: Sequence[str], likely: float = 0.5) -> frozenset[str]:
    """Return each of ``names`` with that probability."""
    return frozenset(name for name in names if random.random() < likely)


def stock(random: Random) -> ProviderInventory:
    """Return amounts small enough to be used up, now and then with unit rules."""
    least, step = (random.choice((1, 2)) if random.random() < RULE_PROBABILITY else 1 for _ in range(2))
    most = random.randint(1, 3) if random.random() < RULE_PROBABILITY else 99
    capacity = random.randint(1, 6)
    return ProviderInventory(capacity, random.randint(0, capacity) if random.random() < 0.3 else 0, least, most, step)


def tree(random: Random, *, marked: bool = False) -> ProviderTree:
    """Return a tree of up to six providers, often alike ones, and up to two that share with it."""
    shapes = [shape(random) for _ in range(2)]
    providers: list[Provider] = []
    for number in range(random.randint(1, 6)):
        parent = random.choice(providers).id if providers else None
        name = f"{parent}/{number}" if parent else "root"
        providers.append(Provider(name, parent, *random.choice(shapes), symmetry_key=name if marked else None))
    pools = [Provider(f"pool{number}", None, *shape(random)) for number in range(random.choice((0, 0, 1, 2)))]
    return ProviderTree(providers, pools)


def shape(random: Random) -> tuple:
    """Return stocks, traits and aggregates."""
    return {name: stock(random) for name in some(random, CLASSES, 0.6)}, some(random, TRAITS), some(random, AGGREGATES)


def group(random: Random, names: Sequence[str]) -> RequestGroup:
    """Return a group of few classes, with few rules."""

    def seldom(drawn, otherwise=()):
        return drawn if random.random() < RULE_PROBABILITY else otherwise

    return RequestGroup(
        resources={name: random.choice((1, 1, 2, 3)) for name in random.sample(CLASSES, random.choice((1, 1, 2)))},
        required=seldom((random.choice(TRAITS),)),
        any_of=seldom((tuple(random.sample(TRAITS, 2)),)),
        forbidden=seldom((random.choice(TRAITS),)),
        member_of=seldom(tuple(tuple(random.sample(AGGREGATES, random.choice((1, 2)))) for _ in range(2))),
        forbidden_aggregates=seldom((random.choice(AGGREGATES),)),
        in_tree=seldom(random.choice(names), None),
    )


def tree_request(random: Random, names: Sequence[str]) -> TreeRequest:
    """Return a request; ``names`` are those that its groups' ``in_tree`` may be."""
    shapes = [group(random, names) for _ in range(2)]
    groups = [replace(random.choice(shapes), suffix=suffix) for suffix in random.choice(SUFFIXES)]
    suffixes = [each.suffix for each in groups if each.suffix]
    related: list[tuple[str, ...]] = []
    if suffixes and random.random() < 0.5:
        groups.append(RequestGroup("_none", required=(random.choice(TRAITS),)))
        suffixes.append("_none")
        related = [("_none", *random.sample(suffixes[:-1], random.randint(1, len(suffixes) - 1)))]
    elif len(suffixes) > 1 and random.random() < 0.3:
        related = [tuple(random.sample(suffixes, 2))]
    rooted = [(random.choice(TRAITS),) if random.random() < RULE_PROBABILITY else () for _ in range(2)]
    return TreeRequest(groups, random.choice((NONE, ISOLATE)), *rooted, same_subtree=tuple(related))


def all_candidates(tree: ProviderTree, tree_request: TreeRequest) -> Iterator[AllocationCandidate]:
    """Yield every way to serve ``wanted``: all combinations of groups and providers that are right."""
    providers = [*tree.providers, *tree.sharing]
    pieces = []
    for group in tree_request.groups:
        if group.suffix:
            pieces.append((group, dict(group.resources)))
        else:
            pieces += [(group, {name: amount}) for name, amount in group.resources.items()]
    for chosen in itertools.product(providers, repeat=len(pieces)):
        given = list(zip(pieces, chosen, strict=True))
        if is_valid(tree, tree_request, given):
            allocations: dict = {}
            by_suffix: dict = {}
            for (group, amounts), each in given:
                for name, amount in amounts.items():
                    held = allocations.setdefault(each.id, {})
                    held[name] = held.get(name, 0) + amount
                by_suffix.setdefault(group.suffix, set()).add(each.id)
            yield AllocationCandidate(
                allocations, {suffix: tuple(sorted(names)) for suffix, names in by_suffix.items()}
            )


def is_valid(tree, tree_request, given) -> bool:
    """Tell whether a choice of providers serves a request: rule by rule, as Placement's documentation has them."""
    root = tree.providers[0]
    together: dict = {}
    for (group, _amounts), each in given:
        together.setdefault(group.suffix, []).append(each)
    alone = [used[0].id for suffix, used in together.items() if suffix]
    return (
        set(tree_request.root_required) <= root.traits
        and not set(tree_request.root_forbidden) & root.traits
        and fits(given)
        and all(may_serve(tree, group, each) for (group, _amounts), each in given)
        and all(has_traits(group, together.get(group.suffix, [root])) for group in tree_request.groups)
        and (tree_request.policy != "isolate" or len(set(alone)) == len(alone))
        and all(
            in_one_subtree(tree, [together[suffix][0] for suffix in suffixes]) for suffixes in tree_request.same_subtree
        )
    )


def fits(given) -> bool:
    """Tell whether each amount may be handed out, and all of one provider's together."""
    sums: dict = {}
    for (_group, amounts), each in given:
        for name, amount in amounts.items():
            stock = each.inventories.get(name)
            if stock is None or not (stock.min_unit <= amount <= stock.max_unit) or amount % stock.step_size:
                return False
            sums[each.id, name] = sums.get((each.id, name), 0) + amount
            if sums[each.id, name] > min(stock.capacity - stock.used, stock.max_unit):
                return False
    return True


def may_serve(tree, group, each) -> bool:
    """Tell whether a provider is one that the group may use at all."""
    root, members = tree.providers[0], {one.id for one in tree.providers}
    spanning = [each] if group.suffix or each.id not in members else [each, root]
    barring = [each] if group.suffix else [each, root]
    if group.in_tree is None:
        within = True
    elif group.in_tree in members:
        within = each.id in members
    else:
        within = bool(group.suffix) and each.id == group.in_tree
    return (
        within
        and not set(group.forbidden) & each.traits
        and any(all(set(names) & one.aggregates for names in group.member_of) for one in spanning)
        and not any(set(group.forbidden_aggregates) & one.aggregates for one in barring)
    )


def has_traits(group, used) -> bool:
    """Tell whether those used for a group have the traits that it requires, together."""
    traits = set().union(*(each.traits for each in used))
    return set(group.required) <= traits and all(set(names) & traits for names in group.any_of)


def in_one_subtree(tree, used) -> bool:
    """Tell whether one of ``used`` is above all others, or the same."""
    parents = {each.id: each.parent for each in (*tree.providers, *tree.sharing)}

    def above(name):
        return {name} | (above(parents[name]) if parents[name] else set())

    return any(all(one.id in above(other.id) for other in used) for one in used)
