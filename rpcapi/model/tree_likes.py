# SPDX-License-Identifier: Apache-2.0
"""Which providers of a tree stand for each other, as long as nothing of them is used."""

from collections.abc import Iterable, Iterator, Sequence

from rpcapi.model.tree_wishes import Wish
from rpcapi.model.trees import Tree, Wanted


class Likes:
    """Tells providers that a search need not try: an alike one was tried, and neither was touched.

    Two providers are alike where exchanging them, with all that is below them, leaves a tree as it was in all that the
    request asks about.
    """

    def __init__(self, tree: Tree, wishes: Sequence[Wish], wanted: Wanted) -> None:
        numbers = {each.id: number for number, each in enumerate(tree.providers)}
        self._parents = [numbers.get(each.parent or "", -1) for each in tree.providers] + [-1] * len(tree.sharing)
        self._kinds = _kinds(tree, wishes, wanted, self._parents)
        self._touches = [0] * len(self._kinds)
        self._paths: list[list[int]] = []  # from the root down to each provider
        self.ancestors: list[int] = []  # as bits, each one's own among them
        for number, parent in enumerate(self._parents):
            above = self._paths[parent] if parent >= 0 else []
            self._paths.append([*above, number])
            self.ancestors.append(sum(1 << each for each in self._paths[-1]))

    def touch(self, number: int) -> None:
        """Note that a provider is used, and so all above it are no longer like others."""
        for each in self._paths[number]:
            self._touches[each] += 1

    def let_go(self, number: int) -> None:
        """Take one ``touch`` back."""
        for each in self._paths[number]:
            self._touches[each] -= 1

    def unlike(self, numbers: Iterable[int]) -> Iterator[int]:
        """Yield those of ``numbers`` to which no earlier one is alike, as things stand when each is asked for."""
        seen = set()
        for number in list(numbers):
            key = self._key(number)
            if key not in seen:
                seen.add(key)
                yield number

    def _key(self, number: int) -> tuple[int, ...]:
        path = self._paths[number]
        for depth, each in enumerate(path):
            if not self._touches[each]:
                return (path[depth - 1] if depth else -1, *(self._kinds[below] for below in path[depth:]))
        return (number,)


def _kinds(tree: Tree, wishes: Sequence[Wish], wanted: Wanted, parents: Sequence[int]) -> list[int]:
    """Return a number for each provider: that of all that are the same, with all that is below them."""
    asked = {name for wish in wishes for name, _ in wish.amounts}
    told = {name for each in wanted.groups for names in (each.required, *each.any_of) for name in names}
    masks = [wish.mask for wish in wishes]
    providers = [*tree.providers, *tree.sharing]
    below: list[list[int]] = [[] for _ in providers]
    kinds = [0] * len(providers)
    known: dict[object, int] = {}
    for number in range(len(providers) - 1, -1, -1):  # children come after their parents
        each = providers[number]
        outside = number >= len(tree.providers)
        kind = (
            tuple(mask >> number & 1 for mask in masks),
            frozenset((name, stock.room) for name, stock in each.stocks.items() if name in asked),
            each.traits and each.traits & told,
            each.mark,
            number if outside else None,
            tuple(sorted(below[number])),
        )
        kinds[number] = known.setdefault(kind, len(known))
        if parents[number] >= 0:
            below[parents[number]].append(kinds[number])
    return kinds
