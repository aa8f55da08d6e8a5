# SPDX-License-Identifier: Apache-2.0
"""Provider trees built from the table's columns, only for the few hosts that are searched."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from rpcapi.resources.trees.tree import Provider, ProviderInventory, ProviderTree, TreeRequest
from scheduler_svc.core.table.forest import Forest
from scheduler_svc.core.table.resources import ResourceColumns
from scheduler_svc.core.table.trees import TreeColumns
from scheduler_svc.core.table.view import View

# {provider: amounts} that the same call reserved (negative: released) and that the table does not show yet.
AllocationLedger = Mapping[str, Mapping[str, int]]
NO_RESERVATIONS: AllocationLedger = {}


class TreeReader:
    """Reader of provider trees, limited to the resource classes, traits and aggregates that a request uses."""

    def __init__(self, view: View, trees: TreeColumns, tree_request: TreeRequest, *, all_classes: bool = False) -> None:
        self._view = view
        self._trees = trees
        groups = tree_request.groups
        self._classes = None if all_classes else frozenset(name for group in groups for name in group.resources)
        root_traits = (tree_request.root_required, tree_request.root_forbidden)
        group_traits = [names for group in groups for names in (group.required, group.forbidden, *group.any_of)]
        self._traits = frozenset(name for names in (*group_traits, *root_traits) for name in names)
        self._reads_aggregates = any(group.member_of or group.forbidden_aggregates for group in groups)

    def is_bare(self, row: int) -> bool:
        """Return whether a host has neither child nor sharing providers."""
        return not self._trees.forest(row).descendants(row) and not any(self._trees.find_sharing_rows(row))

    def tree(self, row: int, ledger: AllocationLedger = NO_RESERVATIONS) -> ProviderTree:
        """Return the host's tree with its sharing providers. ``ledger`` counts as used."""
        root = self.root(row, ledger)
        sharing = [self.root(sharing_row, ledger) for sharing_row in self._trees.find_sharing_rows(row)]
        sharing += self._sharing_children(row, {provider.id for provider in sharing}, ledger)
        return ProviderTree([root, *self._below(row, root.id, ledger)], sharing)

    def _sharing_children(self, row: int, roots: set[str], ledger: AllocationLedger) -> Iterator[Provider]:
        """Yield the sharing child providers of other trees. ``roots`` are the sharing roots."""
        children = [
            (child, self._trees.forest(child.root).ancestors(child.row))
            for child in self._trees.find_sharing_children(row)
        ]
        names = roots | {child.forest.names[child.row] for child, _ in children}
        for child, ancestors in sorted(children, key=lambda pair: len(pair[1])):
            parent = next((name for name in ancestors if name in names), None)
            yield replace(self._child(child.forest, child.row, parent, ledger), root=self._view.name(child.root))

    def _below(self, row: int, root: str, ledger: AllocationLedger) -> Iterator[Provider]:
        forest = self._trees.forest(row)
        children: dict[str, list[int]] = {}
        for child_row in sorted(forest.descendants(row), key=forest.names.__getitem__):
            children.setdefault(forest.parent(child_row), []).append(child_row)
        pending = [(root, child_row) for child_row in reversed(children.get(root, ()))]
        while pending:
            parent, child_row = pending.pop()
            name = forest.names[child_row]
            yield self._child(forest, child_row, parent, ledger)
            pending += [(name, child) for child in reversed(children.get(name, ()))]

    def root(self, row: int, ledger: AllocationLedger) -> Provider:
        view, name = self._view, self._view.name(row)
        aggregates = frozenset(view.aggregates.of_row(row)) if self._reads_aggregates else frozenset[str]()
        inventories = self._inventories(view.hosts.resources, row, ledger.get(name, {}))
        traits = frozenset(view.hosts.traits_of(row, self._traits)) if self._traits else frozenset[str]()
        return Provider(name, None, inventories, traits, aggregates)

    def _child(self, forest: Forest, row: int, parent: str | None, ledger: AllocationLedger) -> Provider:
        name = forest.names[row]
        aggregates = frozenset(forest.aggregates.of(row)) if self._reads_aggregates else frozenset[str]()
        inventories = self._inventories(forest.resources, row, ledger.get(name, {}))
        traits = frozenset(forest.traits.of(row, self._traits)) if self._traits else frozenset[str]()
        return Provider(name, parent, inventories, traits, aggregates)

    def _inventories(
        self, resources: Mapping[str, ResourceColumns], row: int, reserved_amounts: Mapping[str, int]
    ) -> dict[str, ProviderInventory]:
        inventories = {}
        for name in resources if self._classes is None else self._classes & resources.keys():
            columns = resources[name]
            capacity = int(columns.capacity[row])
            if capacity:
                inventories[name] = ProviderInventory(
                    capacity,
                    int(columns.used[row]) + reserved_amounts.get(name, 0),
                    int(columns.min_unit[row]),
                    int(columns.max_unit[row]),
                    int(columns.step_size[row]),
                )
        return inventories
