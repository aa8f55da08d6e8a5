# SPDX-License-Identifier: Apache-2.0
"""Trees read from the table, for the few hosts that are searched: columns answer for many, records for one."""

from collections.abc import Iterator, Mapping

from rpcapi.model.trees import Allocations, Provider, Stock, Tree, Wanted
from scheduler_svc.request import Request
from scheduler_svc.table.forest import Forest
from scheduler_svc.table.resources import ResourceColumns
from scheduler_svc.table.traits import TraitColumns
from scheduler_svc.table.view import View


class Ledger:
    """What instances of the same call were given, or give back (below 0), and the table does not know of yet."""

    __slots__ = ("_given",)

    def __init__(self) -> None:
        self._given: dict[str, dict[str, int]] = {}

    def add(self, allocations: Allocations) -> None:
        """Note what one more instance was given."""
        for name, amounts in allocations.items():
            held = self._given.setdefault(name, {})
            for resource_class, amount in amounts.items():
                held[resource_class] = held.get(resource_class, 0) + amount

    def of(self, provider: str) -> Mapping[str, int]:
        """Return what was given of one provider."""
        return self._given.get(provider, {})


class TreeReader:
    """Reads of each provider what a request asks about, and nothing else."""

    def __init__(self, view: View, request: Request, wanted: Wanted) -> None:
        self._view = view
        groups = wanted.groups
        # Of a cell its NUMA state needs what is in use of all its classes.
        self._classes = None if request.numa else frozenset(name for each in groups for name in each.resources)
        rooted = (wanted.root_required, wanted.root_forbidden)
        told = [names for each in groups for names in (each.required, each.forbidden, *each.any_of)]
        self._traits = frozenset(name for names in (*told, *rooted) for name in names)
        self._asks_aggregates = any(each.member_of or each.forbidden_aggregates for each in groups)

    def is_bare(self, row: int) -> bool:
        """Tell whether a host is all there is to its tree."""
        return not self._view.forest(row).below(row) and not any(self._view.trees.sharing_with(row))

    def tree(self, row: int, ledger: Ledger) -> Tree:
        """Return the tree of a host, with those who share with it, beside what ``ledger`` has."""
        root = self.root(row, ledger)
        sharing = [self.root(each, ledger) for each in self._view.trees.sharing_with(row)]
        return Tree([root, *self._below(row, root.id, ledger)], sharing)

    def _below(self, row: int, root: str, ledger: Ledger) -> Iterator[Provider]:
        """Yield the providers below a host, each after its parent."""
        forest = self._view.forest(row)
        children: dict[str, list[int]] = {}
        for each in sorted(forest.below(row), key=forest.names.__getitem__):
            children.setdefault(forest.parent(each), []).append(each)
        line = [(root, each) for each in reversed(children.get(root, ()))]
        while line:
            parent, each = line.pop()
            name = forest.names[each]
            yield self._child(forest, each, parent, ledger)
            line += [(name, child) for child in reversed(children.get(name, ()))]

    def root(self, row: int, ledger: Ledger) -> Provider:
        """Return a host by itself, beside what ``ledger`` has."""
        view, name = self._view, self._view.name(row)
        aggregates = frozenset(view.aggregates.of_row(row)) if self._asks_aggregates else frozenset[str]()
        stocks = self._stocks(view.resource_columns, row, ledger.of(name))
        return Provider(name, None, stocks, self._having(view.trait_columns, row), aggregates)

    def _child(self, forest: Forest, row: int, parent: str, ledger: Ledger) -> Provider:
        name = forest.names[row]
        aggregates = frozenset(forest.aggregates.of(row)) if self._asks_aggregates else frozenset[str]()
        stocks = self._stocks(forest.resources, row, ledger.of(name))
        return Provider(name, parent, stocks, self._having(forest.traits, row), aggregates)

    def _having(self, columns: TraitColumns, row: int) -> frozenset[str]:
        return frozenset(columns.of(row, among=self._traits)) if self._traits else frozenset()

    def _stocks(self, resources: Mapping[str, ResourceColumns], row: int, given: Mapping[str, int]) -> dict[str, Stock]:
        found = {}
        for name in resources if self._classes is None else self._classes & resources.keys():
            columns = resources[name]
            capacity = int(columns.capacity[row])
            if capacity:
                found[name] = Stock(
                    capacity,
                    int(columns.used[row]) + given.get(name, 0),
                    int(columns.min_unit[row]),
                    int(columns.max_unit[row]),
                    int(columns.step_size[row]),
                )
        return found
