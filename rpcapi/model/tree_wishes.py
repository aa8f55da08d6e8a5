# SPDX-License-Identifier: Apache-2.0
"""What a request asks of a tree, part by part: each to be given by one provider, and by which it could be."""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

from rpcapi.model.groups import RequestGroup
from rpcapi.model.trees import Provider, Tree, Wanted, has_traits, in_aggregates


@dataclass(frozen=True, slots=True)
class Wish:
    """Amounts that one provider must give: all of a suffixed group, or one class of the group without a suffix.

    ``options`` are the providers that could, each by itself, as numbers in the tree's providers and then its sharing
    ones. ``related`` are the numbers of the same-subtree rules that name the group.
    """

    suffix: str
    amounts: tuple[tuple[str, int], ...]
    options: tuple[int, ...]
    related: frozenset[int] = frozenset()

    @property
    def alike(self) -> tuple[object, ...]:
        """Return what wishes have in common that may change places; of the group without a suffix none may."""
        return (self.amounts, self.options, self.related, bool(self.suffix))

    @property
    def mask(self) -> int:
        """Return the options as bits."""
        return sum(1 << option for option in self.options)


def wishes_of(tree: Tree, wanted: Wanted) -> list[Wish]:
    """Return all wishes of a request, alike ones next to each other, those with the fewest options first."""
    wishes = list(_wishes(tree, wanted))
    fewest = {wish.alike: len(wish.options) for wish in wishes}
    order = {alike: number for number, alike in enumerate(sorted(fewest, key=fewest.__getitem__))}
    return sorted(wishes, key=lambda wish: order[wish.alike])


def serves_at_all(tree: Tree, wanted: Wanted) -> bool:
    """Tell whether the root is what is asked of roots."""
    root = tree.root
    if not has_traits(root.traits, wanted.root_required, (), wanted.root_forbidden):
        return False
    # Without amounts nobody is used of whom the traits and aggregates of the group without a suffix could be asked.
    return all(
        has_traits(root.traits, group.required, group.any_of, group.forbidden)
        and _may_use(tree, root, group)
        and _is_tree(tree, group.in_tree)
        for group in wanted.groups
        if not group.suffix and not group.resources
    )


def serves_alone(provider: Provider, group: RequestGroup) -> bool:
    """Tell whether a provider by itself is and has all that a group asks, wherever it is."""
    return (
        _gives(provider, group.resources.items())
        and has_traits(provider.traits, group.required, group.any_of, group.forbidden)
        and in_aggregates(provider.aggregates, group.member_of)
        and provider.aggregates.isdisjoint(group.forbidden_aggregates)
    )


def _wishes(tree: Tree, wanted: Wanted) -> Iterator[Wish]:
    found: dict[Hashable, tuple[int, ...]] = {}  # of alike groups one is looked at
    for group in wanted.groups:
        if group.suffix:
            what = _asked(group)
            if what not in found:
                found[what] = tuple(_suffixed(tree, group))
            options = found[what]
            rules = (number for number, suffixes in enumerate(wanted.same_subtree) if group.suffix in suffixes)
            yield Wish(group.suffix, tuple(sorted(group.resources.items())), options, frozenset(rules))
        else:
            usable = list(_unsuffixed(tree, group))
            for resource_class, amount in group.resources.items():
                givers = tuple(number for number, each in usable if _gives(each, ((resource_class, amount),)))
                yield Wish("", ((resource_class, amount),), givers)


def _asked(group: RequestGroup) -> Hashable:
    """Return all that a group asks, its suffix aside."""
    amounts = frozenset(group.resources.items())
    traits = (group.required, group.any_of, group.forbidden)
    return amounts, traits, group.member_of, group.forbidden_aggregates, group.in_tree


def _suffixed(tree: Tree, group: RequestGroup) -> Iterator[int]:
    """Yield who could serve a group alone; only what it is and has itself counts."""
    inside = _is_tree(tree, group.in_tree)
    for number, each in _numbered(tree):
        within = inside if number < len(tree.providers) else group.in_tree in (None, each.id)
        if within and serves_alone(each, group):
            yield number


def _unsuffixed(tree: Tree, group: RequestGroup) -> Iterator[tuple[int, Provider]]:
    """Yield who may be used for the group without a suffix; its required traits are asked of all used together."""
    if not _is_tree(tree, group.in_tree):
        return
    for number, each in _numbered(tree):
        outside = number >= len(tree.providers)
        if outside and group.in_tree is not None:
            return
        if has_traits(each.traits, (), (), group.forbidden) and _may_use(tree, each, group, outside=outside):
            yield number, each


def _may_use(tree: Tree, each: Provider, group: RequestGroup, *, outside: bool = False) -> bool:
    """Tell whether a provider's aggregates are those asked for; those of the root span the tree.

    A forbidden one of the root keeps the tree from using what others share, too.
    """
    root = tree.root.aggregates
    within = in_aggregates(each.aggregates, group.member_of) or (not outside and in_aggregates(root, group.member_of))
    return within and (each.aggregates | root).isdisjoint(group.forbidden_aggregates)


def _numbered(tree: Tree) -> Iterator[tuple[int, Provider]]:
    return enumerate((*tree.providers, *tree.sharing))


def _is_tree(tree: Tree, name: str | None) -> bool:
    return name is None or any(each.id == name for each in tree.providers)


def _gives(provider: Provider, amounts: Iterable[tuple[str, int]]) -> bool:
    stocks = provider.stocks
    return all(name in stocks and stocks[name].gives(amount) for name, amount in amounts)
