# SPDX-License-Identifier: Apache-2.0
"""The exact search for allocations in one provider tree: lazy, in bounded steps, no alike way twice."""

import enum
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from rpcapi.model import groups
from rpcapi.model.tree_likes import Likes
from rpcapi.model.tree_wishes import Wish, serves_at_all, wishes_of
from rpcapi.model.trees import Allocations, Found, Provider, Stock, Tree, Wanted, has_traits

STEPS = 4000  # of one search: some tens of milliseconds

Accept = Callable[[Found], bool]


class Miss(enum.StrEnum):
    """Why a search found nothing."""

    NONE = "no provider tree fits"
    REFUSED = "no fitting provider tree was accepted"
    STEPS = "no provider tree found within the steps allowed"


class Steps:
    """How many times a part of a request may still be tried on a provider; several searches may share them."""

    __slots__ = ("left",)

    def __init__(self, limit: int = STEPS) -> None:
        self.left = limit

    def take(self) -> bool:
        """Count one, and tell whether it was there."""
        self.left -= 1
        return self.left >= 0

    @property
    def spent(self) -> bool:
        """Tell whether more were asked for than there were."""
        return self.left < 0


def first(tree: Tree, wanted: Wanted, steps: Steps, accept: Accept | None = None) -> Found | Miss:
    """Return the first way to serve ``wanted`` that is accepted, or why there is none."""
    refused = False
    for found in search(tree, wanted, steps):
        if accept is None or accept(found):
            return found
        refused = True
    if steps.spent:
        return Miss.STEPS
    return Miss.REFUSED if refused else Miss.NONE


def search(tree: Tree, wanted: Wanted, steps: Steps) -> Iterator[Found]:
    """Yield ways to serve ``wanted``, until there is no other or the steps are spent.

    Of ways that differ only in which of several alike groups is served by which provider, or in which of several alike
    providers serve, one is yielded: Provider.mark keeps providers apart.
    """
    if serves_at_all(tree, wanted):
        wishes = wishes_of(tree, wanted)
        if _could_be(tree, wanted, wishes):
            yield from _Search(tree, wanted, wishes, steps).placed(0)


def retraced(tree: Tree, wanted: Wanted, allocations: Allocations, steps: Steps) -> Iterator[Found]:
    """Yield the ways in which exactly ``allocations`` serve ``wanted``: which group is whose.

    For who was handed them: of ``tree`` the shape and the traits are read; capacity, use and aggregates were the
    claim's. A provider of ``allocations`` that is not in it is another host's, and its traits are not known.
    """
    asked: Counter[str] = Counter()
    given: Counter[str] = Counter()
    for group in wanted.groups:
        asked.update(group.resources)
    for amounts in allocations.values():
        given.update(amounts)
    if asked != given:
        return
    known = {each.id for each in tree.providers}
    held = [replace(each, stocks=_stocks(allocations, each.id), aggregates=frozenset()) for each in tree.providers]
    others = [Provider(name, None, _stocks(allocations, name), None) for name in allocations if name not in known]
    asked_groups = [replace(each, member_of=(), forbidden_aggregates=(), in_tree=None) for each in wanted.groups]
    claimed = replace(wanted, groups=asked_groups, root_required=(), root_forbidden=())
    yield from search(Tree(held, others), claimed, steps)


def _stocks(allocations: Allocations, name: str) -> dict[str, Stock]:
    return {resource_class: Stock(amount) for resource_class, amount in allocations.get(name, {}).items()}


class _Search:
    """The depth-first search with its state: what is placed, what room that leaves, who is touched by it."""

    def __init__(self, tree: Tree, wanted: Wanted, wishes: Sequence[Wish], steps: Steps) -> None:
        self._steps = steps
        self._wishes = wishes
        self._providers = [*tree.providers, *tree.sharing]
        self._collective = next((each for each in wanted.groups if not each.suffix), None)
        self._isolated = wanted.policy == groups.ISOLATE
        self._likes = Likes(tree, wishes, wanted)
        self._room = [{name: stock.room for name, stock in each.stocks.items()} for each in self._providers]
        self._place: list[int] = []  # the provider of each wish so far
        self._taken = 0  # bits of the providers of suffixed groups
        self._members = [
            [number for number, wish in enumerate(wishes) if rule in wish.related]
            for rule in range(len(wanted.same_subtree))
        ]
        self._last_collective = max((n for n, wish in enumerate(wishes) if not wish.suffix), default=-1)

    def placed(self, number: int) -> Iterator[Found]:
        """Yield all ways to place the wishes from ``number`` on."""
        if number == len(self._wishes):
            yield self._found()
            return
        wish = self._wishes[number]
        for option in self._likes.unlike(self._allowed(number, wish)):
            if not self._steps.take():
                return
            self._put(wish, option, -1)
            if self._holds(number, wish):
                yield from self.placed(number + 1)
            self._put(wish, option, +1)
            if self._steps.spent:
                return

    def _allowed(self, number: int, wish: Wish) -> Iterator[int]:
        """Yield the options with room left; alike wishes are placed in the order of the providers."""
        least = 0
        if number and self._wishes[number - 1].alike == wish.alike and wish.suffix:
            least = self._place[-1]
        for option in wish.options:
            if option < least or (self._isolated and wish.suffix and self._taken >> option & 1):
                continue
            room = self._room[option]
            if all(room[name] >= amount for name, amount in wish.amounts):
                yield option

    def _put(self, wish: Wish, option: int, sign: int) -> None:
        """Place a wish (-1), or take the last one back (+1)."""
        room = self._room[option]
        for name, amount in wish.amounts:
            room[name] += sign * amount
        if sign < 0:
            self._place.append(option)
            self._likes.touch(option)
            if wish.suffix:
                self._taken |= 1 << option
        else:
            self._place.pop()
            self._likes.let_go(option)
            if wish.suffix and not any(
                at == option and each.suffix for each, at in zip(self._wishes, self._place, strict=False)
            ):
                self._taken &= ~(1 << option)

    def _holds(self, number: int, wish: Wish) -> bool:
        """Tell whether what was placed last can still be part of an answer."""
        if number == self._last_collective and not self._has_collective_traits():
            return False
        return all(self._may_be_subtree(self._members[rule]) for rule in wish.related)

    def _has_collective_traits(self) -> bool:
        group = self._collective
        if group is None:
            return True
        used = [self._providers[at] for wish, at in zip(self._wishes, self._place, strict=False) if not wish.suffix]
        traits = frozenset[str]().union(*(each.traits or () for each in used))
        return any(each.traits is None for each in used) or has_traits(traits, group.required, group.any_of, ())

    def _may_be_subtree(self, members: Sequence[int]) -> bool:
        """Tell whether one of the rule's providers is, or can still become, above all others placed."""
        above, placed = -1, 0
        for number in members:
            if number < len(self._place):
                above &= self._likes.ancestors[self._place[number]]
                placed |= 1 << self._place[number]
        return bool(above & placed) or any(
            above & self._wishes[number].mask for number in members if number >= len(self._place)
        )

    def _found(self) -> Found:
        allocations: dict[str, dict[str, int]] = {}
        providers: dict[str, tuple[str, ...]] = {}
        for wish, at in zip(self._wishes, self._place, strict=True):
            name = self._providers[at].id
            amounts = allocations.setdefault(name, {}) if wish.amounts else {}
            for resource_class, amount in wish.amounts:
                amounts[resource_class] = amounts.get(resource_class, 0) + amount
            known = providers.get(wish.suffix, ())
            providers[wish.suffix] = known if name in known else (*known, name)
        return Found(allocations, providers)


def _could_be(tree: Tree, wanted: Wanted, wishes: Sequence[Wish]) -> bool:
    """Tell by sums whether a search is worth its while; most trees that do not fit fall here."""
    providers = [*tree.providers, *tree.sharing]
    if any(not wish.options for wish in wishes):
        return False
    asked: Counter[str] = Counter()
    givers: dict[str, int] = {}
    for wish in wishes:
        for name, amount in wish.amounts:
            asked[name] += amount
            givers[name] = givers.get(name, 0) | wish.mask
    for name, amount in asked.items():
        if amount > sum(each.stocks[name].room for n, each in enumerate(providers) if givers[name] >> n & 1):
            return False
    return wanted.policy != groups.ISOLATE or _all_apart([wish for wish in wishes if wish.suffix])


def _all_apart(wishes: Sequence[Wish]) -> bool:
    """Tell whether each wish can have a provider of its own: a matching, by augmenting paths."""
    holder: dict[int, int] = {}

    def give(number: int, seen: set[int]) -> bool:
        for option in wishes[number].options:
            if option not in seen:
                seen.add(option)
                if option not in holder or give(holder[option], seen):
                    holder[option] = number
                    return True
        return False

    return all(give(number, set()) for number in range(len(wishes)))
