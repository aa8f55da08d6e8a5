# SPDX-License-Identifier: Apache-2.0
"""What a host's tree can give one more instance of a request: searched for when it is asked for."""

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import NamedTuple

from rpcapi.model.tree_search import STEPS, Accept, Miss, Steps, first
from rpcapi.model.tree_wishes import serves_alone
from rpcapi.model.trees import Allocations, Found, Tree
from scheduler_svc.candidates.numa import NumaFit
from scheduler_svc.candidates.reader import Ledger, TreeReader
from scheduler_svc.candidates.wanted import wanted
from scheduler_svc.request import Request
from scheduler_svc.table.view import View

MOST_STEPS = 5 * STEPS  # of all searches of one decision
COST = 8  # steps that it takes to read a tree


class Offer(NamedTuple):
    """What an instance would be given; None: the request's resources, all of the host's root."""

    allocations: Allocations | None


class Finder:
    """Searches the trees of single hosts, beside what instances of the same call were given before."""

    def __init__(self, view: View, request: Request) -> None:
        self._view = view
        self._request = request
        self._wanted = wanted(request)
        self._reader = TreeReader(view, request, self._wanted)
        self._left = MOST_STEPS
        self._base: dict[int, Offer | Miss] = {}  # where nothing was given yet
        self._offers = self._base
        self._ledger = Ledger()

    @property
    def is_needed(self) -> bool:
        """Tell whether there is anything to search: a flat host gives a request without groups all or nothing."""
        return bool(self._request.groups) or not self._view.trees.are_flat

    @property
    def is_spent(self) -> bool:
        """Tell whether a decision has searched as much as it may."""
        return self._left <= 0

    def offer(self, row: int) -> Offer | Miss:
        """Return what one more instance would be given at a host, or why nothing."""
        if row not in self._offers:
            self._offers[row] = self._find(row)
        return self._offers[row]

    def take(self, row: int) -> Allocations | None:
        """Give what was offered to an instance; later offers are beside it."""
        offered = self.offer(row)
        if isinstance(offered, Miss):
            raise ValueError(f"{self._view.name(row)} offered nothing")
        given = self._amounts(row, offered)
        self._ledger.add(given)
        self._offers = {
            each: other
            for each, other in self._offers.items()
            if each != row and not (isinstance(other, Offer) and given.keys() & self._amounts(each, other).keys())
        }
        return offered.allocations

    def give_back(self, allocations: Allocations) -> None:
        """Search as if these were free by now; asked before anything is offered."""
        self._ledger.add({name: {its: -amount for its, amount in each.items()} for name, each in allocations.items()})

    def start_over(self) -> None:
        """Take back all that was given."""
        self._ledger = Ledger()
        self._offers = self._base

    def _amounts(self, row: int, offer: Offer) -> Allocations:
        if offer.allocations is not None:
            return offer.allocations
        return {self._view.name(row): self._request.resources}

    def _find(self, row: int) -> Offer | Miss:
        if not self._request.groups:
            if self._reader.is_bare(row):
                return Offer(None)  # how many it takes was counted by columns
            # Most hosts with something below them still give all of an ordinary request themselves.
            if serves_alone(self._reader.root(row, self._ledger), self._wanted.groups[0]):
                return Offer(None)
        tree = self._reader.tree(row, self._ledger)
        found = self._fit_cells(row, tree) if self._request.numa else self._search(tree)
        return found if isinstance(found, Miss) else Offer(found.allocations)

    def _fit_cells(self, row: int, tree: Tree) -> Found | Miss:
        """Search for what the host would pin the guest to.

        Cells that should be alike may have been told of differently, by a host whose claims say otherwise by now; so
        where the first of its likes is refused, every one is tried.
        """
        fit = NumaFit(self._request.numa, self._view.numa(row), tree)
        found = self._search(_marked(tree, fit.mark), fit.accepts)
        return self._search(_marked(tree, str), fit.accepts) if found is Miss.REFUSED else found

    def _search(self, tree: Tree, accept: Accept | None = None) -> Found | Miss:
        if self._left <= 0:
            return Miss.STEPS
        steps = Steps(min(STEPS, self._left))
        before = steps.left
        found = first(tree, self._wanted, steps, accept)
        self._left -= COST + before - steps.left
        return found


def _marked(tree: Tree, mark: Callable[[str], Hashable]) -> Tree:
    return replace(tree, providers=[replace(each, mark=mark(each.id)) for each in tree.providers])
