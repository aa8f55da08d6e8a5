# SPDX-License-Identifier: Apache-2.0
"""Columns over whole provider trees: tests and sums over all providers of each host."""

import copy
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Concatenate, NamedTuple, ParamSpec

import numpy as np

from rpcapi.resources.trees.tree import SHARING_TRAIT
from scheduler_svc.core.table.aggregates import AggregateView
from scheduler_svc.core.table.columns import Column, FloatColumn, IntColumn, Rows
from scheduler_svc.core.table.forest import Forest
from scheduler_svc.core.table.provider_columns import ProviderColumns
from scheduler_svc.core.table.rows import COMPUTE, HostRows

P = ParamSpec("P")

ProviderTest = Callable[Concatenate[ProviderColumns, P], Column]
ProviderCount = Callable[Concatenate[ProviderColumns, P], IntColumn | FloatColumn]


class SharingChild(NamedTuple):
    """Sharing provider below a root: forest, row in the forest, and host row of the root."""

    forest: Forest
    row: int
    root: int


class TreeColumns:
    """Hosts with their child providers and the providers that share with them.

    For decisions, only roots that currently take claims share, and only with compute hosts. With ``everywhere``, every
    existing provider shares with all trees, as in Placement.
    """

    __slots__ = ("_aggregates", "_everywhere", "_sharing_children", "_sharing_rows", "_table", "forests", "hosts")

    def __init__(self, table: HostRows, aggregates: AggregateView, size: int, *, everywhere: bool = False) -> None:
        self._table = table
        self._aggregates = aggregates
        self._everywhere = everywhere
        self._sharing_rows: Rows | None = None
        self._sharing_children: list[SharingChild] | None = None
        self.hosts = ProviderColumns(table.resources, table.traits, aggregates.members, size)
        self.forests = [
            (part.forest, descendant_columns(part.forest)) for part in table.partitions if not part.forest.is_empty
        ]

    def roots_only(self) -> "TreeColumns":
        roots = self.without_sharing()
        roots.forests = []
        return roots

    def without_sharing(self) -> "TreeColumns":
        trees = copy.copy(self)
        trees._sharing_rows, trees._sharing_children = np.zeros(0, np.intp), []
        return trees

    @property
    def sharing_rows(self) -> Rows:
        """Rows of the sharing roots that currently take claims; with ``everywhere``, of all sharing roots."""
        if self._sharing_rows is None:
            table, size = self._table, self.hosts.size
            if table.traits.contains(SHARING_TRAIT):
                mask = table.present
                if not self._everywhere:
                    mask = mask & table.services.alive & table.services.enabled & table.services.opened
                self._sharing_rows = np.flatnonzero(mask[:size] & self.hosts.has_any((SHARING_TRAIT,)))
            else:
                self._sharing_rows = np.zeros(0, np.intp)
        return self._sharing_rows

    @property
    def sharing_children(self) -> Sequence[SharingChild]:
        """Sharing providers below roots. Decisions use none."""
        if self._sharing_children is None:
            self._sharing_children = []
            for forest, below in self.forests if self._everywhere else ():
                if forest.traits.contains(SHARING_TRAIT):
                    rows = np.flatnonzero(below.has_any((SHARING_TRAIT,)) & forest.present[: forest.size])
                    self._sharing_children += [
                        SharingChild(forest, row, int(forest.root[row])) for row in rows.tolist()
                    ]
        return self._sharing_children

    @property
    def are_flat(self) -> bool:
        return not self.forests and not len(self.sharing_rows)

    @property
    def nested_hosts(self) -> Column:
        column = np.zeros(self.hosts.size, np.bool_)
        for forest, _ in self.forests:
            column[list(forest.hosts)] = True
        for row in self.sharing_rows.tolist():
            column |= self.served_by(row)
        for child in self.sharing_children:
            column |= self.served_by_child(child)
        return column

    @property
    def classes(self) -> list[str]:
        """Resource classes of all providers, current or former."""
        tables = (self.hosts.resources, *(part.forest.resources for part in self._table.partitions))
        return list(dict.fromkeys(name for resources in tables for name in resources))

    @property
    def traits(self) -> list[str]:
        """Traits of all providers, current or former."""
        tables = (self.hosts.traits, *(part.forest.traits for part in self._table.partitions))
        return list(dict.fromkeys(name for traits in tables for name in traits.names))

    def forest(self, row: int) -> Forest:
        return self._table.partitions[int(self._table.partition[row])].forest

    def containing(self, name: str, *, sharing: bool = False) -> Column:
        """Return a mask of the hosts whose tree contains a provider or, with ``sharing``, shares its tree."""
        column = np.zeros(self.hosts.size, np.bool_)
        for part in self._table.partitions:
            row = part.rows.get(name)
            if row is not None and self._table.present[row]:
                column[row] = True
                if sharing and row in self.sharing_rows:
                    column |= self.served_by(row)
                for child in self.sharing_children if sharing else ():
                    if child.root == row:
                        column |= self.served_by_child(child)
            elif name in part.forest.rows and part.forest.present[part.forest.rows[name]]:
                column[part.forest.root[part.forest.rows[name]]] = True
        return column

    def has_rules(self, resource_class: str) -> bool:
        """Return whether the unit rules of any provider may reject an amount of this class within capacity."""
        tables = (self._table.resources, *(forest.resources for forest, _ in self.forests))
        return any(table[resource_class].rules for table in tables if resource_class in table)

    def served_by(self, row: int) -> Column:
        """Return a mask of the hosts that sharing provider ``row`` serves: their trees share an aggregate with it.

        For decisions, only compute hosts count.
        """
        forests = [part.forest for part in self._table.partitions]
        key = ("served", row, *(forest.version for forest in forests))
        names, number = self._aggregates.of_row(row), int(self._table.partition[row])
        column = self._aggregates.get_or_compute(key, lambda: self._find_served_by(names, number))
        if len(self._table.kinds) == 1 or self._everywhere:
            return column
        servable: Column = self._table.kind[: self.hosts.size] == COMPUTE
        servable[row] = True
        return column & servable

    def served_by_child(self, child: SharingChild) -> Column:
        """Return a mask of the hosts outside its own tree that a sharing child provider serves."""
        names = child.forest.aggregates.of(child.row)
        column = self._find_served_by(names, int(self._table.partition[child.root]))
        column[child.root] = False
        return column

    def any(self, test: ProviderTest[P], *args: P.args, **kwargs: P.kwargs) -> Column:
        """Return a mask of the hosts with a provider, own or sharing, that satisfies ``test``."""
        own = test(self.hosts, *args, **kwargs)
        return own if self.are_flat else own | self._any_other(own, test, *args, **kwargs)

    def any_other(self, test: ProviderTest[P], *args: P.args, **kwargs: P.kwargs) -> Column:
        """Return a mask of the hosts that pass ``any`` by a provider other than the host itself."""
        own = test(self.hosts, *args, **kwargs) if len(self.sharing_rows) else np.zeros(self.hosts.size, np.bool_)
        return self._any_other(own, test, *args, **kwargs)

    def _any_other(self, own: Column, test: ProviderTest[P], *args: P.args, **kwargs: P.kwargs) -> Column:
        """Implement ``any_other``. ``own`` is ``test`` of the hosts, and ignored if no host shares."""
        column = np.zeros(self.hosts.size, np.bool_)
        for forest, below in self.forests:
            inside = test(below, *args, **kwargs) & forest.present[: forest.size]
            column[forest.root[: forest.size][inside]] = True
            for child in self.sharing_children:
                if child.forest is forest and inside[child.row]:
                    column |= self.served_by_child(child)
        for row in self.sharing_rows[own[self.sharing_rows]].tolist():
            served = self.served_by(row).copy()
            served[row] = False
            column |= served
        return column

    def sum(self, count: ProviderCount[P], *args: P.args, **kwargs: P.kwargs) -> FloatColumn:
        """Sum ``count`` over each host's tree and the providers that share with it."""
        own = count(self.hosts, *args, **kwargs)
        column = own.astype(np.float64)
        for forest, below in self.forests:
            present = forest.present[: forest.size]
            counts = count(below, *args, **kwargs)
            column += np.bincount(forest.root[: forest.size][present], counts[present], len(column))
            for child in self.sharing_children:
                if child.forest is forest and counts[child.row]:
                    column[self.served_by_child(child)] += counts[child.row]
        for row in self.sharing_rows.tolist():
            if own[row]:
                served = self.served_by(row).copy()
                served[row] = False  # already counted in its own tree
                column[served] += own[row]
        return column

    def free(self, resource_class: str) -> FloatColumn:
        """Return capacity minus usage, summed over each host's tree."""
        if not self.forests:
            return self.hosts.free(resource_class)
        return self._sum_over_tree(resource_class, ProviderColumns.free)

    def capacity(self, resource_class: str) -> FloatColumn:
        """Return the whole capacity, free or used, summed over each host's tree."""
        return self._sum_over_tree(resource_class, ProviderColumns.capacity)

    def unit_share(self, resource_class: str) -> FloatColumn:
        """Return one unit's share of the capacity of each host's tree; 0 without capacity."""
        if not self.forests:
            return self.hosts.unit_share(resource_class)
        capacity = self.capacity(resource_class)
        return np.divide(1.0, capacity, out=np.zeros_like(capacity), where=capacity > 0)

    def _sum_over_tree(self, resource_class: str, amounts: ProviderCount[[str]]) -> FloatColumn:
        column = amounts(self.hosts, resource_class).astype(np.float64)
        for forest, below in self.forests:
            if resource_class in forest.resources:
                present = forest.present[: forest.size]
                values = amounts(below, resource_class)[present]
                column += np.bincount(forest.root[: forest.size][present], values, len(column))
        return column

    def find_sharing_rows(self, row: int) -> Iterator[int]:
        for sharing_row in self.sharing_rows.tolist():
            if sharing_row != row and self.served_by(sharing_row)[row]:
                yield sharing_row

    def find_sharing_children(self, row: int) -> Iterator[SharingChild]:
        return (child for child in self.sharing_children if self.served_by_child(child)[row])

    def _find_served_by(self, names: Collection[str], number: int) -> Column:
        """Return a mask of the partition's hosts with a tree member in one of these aggregates."""
        column = self._aggregates.members(names).copy()
        for forest, below in self.forests:
            inside = below.members(names) & forest.present[: forest.size]
            column[forest.root[: forest.size][inside]] = True
        # A claim cannot span partitions.
        column &= self._table.partition[: self.hosts.size] == number
        return column


def descendant_columns(forest: Forest) -> ProviderColumns:
    size = forest.size
    return ProviderColumns(forest.resources, forest.traits, lambda names: forest.aggregates.has_any(names, size), size)
