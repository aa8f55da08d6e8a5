# SPDX-License-Identifier: Apache-2.0
"""Columns over whole provider trees: tests and sums over all providers, reduced to their hosts."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Concatenate, ParamSpec

import numpy as np

from rpcapi.resources.trees.tree import SHARING_TRAIT
from scheduler_svc.core.table.aggregates import AggregateView
from scheduler_svc.core.table.columns import Column, FloatColumn, IntColumn, Rows, read_only
from scheduler_svc.core.table.forest import Forest
from scheduler_svc.core.table.resources import ResourceColumns
from scheduler_svc.core.table.rows import COMPUTE, HostRows
from scheduler_svc.core.table.traits import TraitColumns

P = ParamSpec("P")


class ProviderColumns:
    """Columns with one element per provider: of all hosts, or of all child providers of a partition."""

    __slots__ = ("_aggregates", "_traits", "resources", "size")

    def __init__(
        self,
        resources: Mapping[str, ResourceColumns],
        traits: TraitColumns,
        aggregates: Callable[[Iterable[str]], Column],
        size: int,
    ) -> None:
        self.resources = resources
        self._traits = traits
        self._aggregates = aggregates
        self.size = size

    def free(self, resource_class: str) -> FloatColumn:
        """Return capacity minus usage; 0 where a provider lacks the class."""
        columns = self.resources.get(resource_class)
        return np.zeros(self.size, np.float64) if columns is None else read_only(columns.free, self.size)

    def available(self, resource_class: str) -> FloatColumn:
        """Return the free capacity, and 0 where usage exceeds the capacity.

        An overcommitted provider then does not reduce the sum over its tree.
        """
        return np.maximum(self.free(resource_class), 0.0)

    def capacity(self, resource_class: str) -> IntColumn:
        """Return the capacity, used or not; 0 where a provider lacks the class."""
        columns = self.resources.get(resource_class)
        return np.zeros(self.size, np.int64) if columns is None else read_only(columns.capacity, self.size)

    def has_capacity(self, resource_class: str, amount: int) -> Column:
        """Return a mask of the providers with at least ``amount`` free."""
        return self.free(resource_class) >= amount

    def can_allocate(self, resource_class: str, amount: int) -> Column:
        """Return a mask of the providers with ``amount`` free whose unit rules allow it."""
        columns = self.resources.get(resource_class)
        if columns is None:
            return np.zeros(self.size, np.bool_)
        fits = columns.free[: self.size] >= amount
        return fits & columns.allows_amount(amount)[: self.size] if columns.rules else fits

    def units(self, resource_class: str, amount: int) -> IntColumn:
        """Return how many times each provider can allocate ``amount`` to one consumer."""
        columns = self.resources.get(resource_class)
        if columns is None:
            return np.zeros(self.size, np.int64)
        fits = np.minimum(columns.free, columns.max_unit)[: self.size]
        return np.where(self.can_allocate(resource_class, amount), fits // amount, 0).astype(np.int64)

    def has_all(self, traits: Iterable[str]) -> Column:
        """Return a mask of the providers that have all of ``traits``."""
        return self._traits.has_all(traits, self.size)

    def has_any(self, traits: Iterable[str]) -> Column:
        """Return a mask of the providers that have at least one of ``traits``."""
        return self._traits.has_any(traits, self.size)

    def has_none(self, traits: Iterable[str]) -> Column:
        """Return a mask of the providers that have none of ``traits``."""
        return ~self.has_any(traits)

    def traits_of(self, row: int, among: Collection[str] | None = None) -> set[str]:
        """Return the traits of one provider; with ``among``, only those that are also in it."""
        return self._traits.of(row, among)

    def members(self, aggregates: Iterable[str]) -> Column:
        """Return a mask of the providers that are themselves in at least one of these aggregates."""
        return self._aggregates(aggregates)


ProviderTest = Callable[Concatenate[ProviderColumns, P], Column]
ProviderCount = Callable[Concatenate[ProviderColumns, P], IntColumn | FloatColumn]


class TreeColumns:
    """The hosts with their child providers, and with the sharing providers of their aggregates."""

    __slots__ = ("_aggregates", "_sharing_rows", "_table", "forests", "hosts")

    def __init__(self, table: HostRows, aggregates: AggregateView, size: int) -> None:
        self._table = table
        self._aggregates = aggregates
        self._sharing_rows: Rows | None = None
        self.hosts = ProviderColumns(table.resources, table.traits, aggregates.members, size)
        self.forests = [
            (part.forest, _descendant_columns(part.forest)) for part in table.partitions if not part.forest.is_empty
        ]

    @property
    def sharing_rows(self) -> Rows:
        """Return the rows of the sharing providers that take claims now."""
        if self._sharing_rows is None:
            table, size = self._table, self.hosts.size
            if table.traits.contains(SHARING_TRAIT):
                schedulable = table.present & table.services.alive & table.services.enabled & table.services.opened
                self._sharing_rows = np.flatnonzero(schedulable[:size] & self.hosts.has_any((SHARING_TRAIT,)))
            else:
                self._sharing_rows = np.zeros(0, np.intp)
        return self._sharing_rows

    @property
    def are_flat(self) -> bool:
        """Whether no host has child providers or is served by a sharing provider."""
        return not self.forests and not len(self.sharing_rows)

    @property
    def nested_hosts(self) -> Column:
        """Return a mask of the hosts that have child providers or are served by a sharing provider."""
        column = np.zeros(self.hosts.size, np.bool_)
        for forest, _ in self.forests:
            column[list(forest.hosts)] = True
        for row in self.sharing_rows.tolist():
            column |= self.served_by(row)
        return column

    @property
    def classes(self) -> list[str]:
        """The resource classes that hosts and the providers below them have or had."""
        tables = (self.hosts.resources, *(part.forest.resources for part in self._table.partitions))
        return list(dict.fromkeys(name for resources in tables for name in resources))

    def forest(self, row: int) -> Forest:
        """Return the forest that contains the providers below ``row``."""
        return self._table.partitions[int(self._table.partition[row])].forest

    def containing(self, name: str, *, sharing: bool = False) -> Column:
        """Return a mask of the hosts whose tree contains a provider; with ``sharing`` also of those it shares with."""
        column = np.zeros(self.hosts.size, np.bool_)
        for part in self._table.partitions:
            row = part.rows.get(name)
            if row is not None and self._table.present[row]:
                column[row] = True
                if sharing and row in self.sharing_rows:
                    column |= self.served_by(row)
            elif name in part.forest.rows and part.forest.present[part.forest.rows[name]]:
                column[part.forest.root[part.forest.rows[name]]] = True
        return column

    def has_rules(self, resource_class: str) -> bool:
        """Return whether any provider's unit rules of a class can reject an amount that its capacity allows."""
        tables = (self._table.resources, *(forest.resources for forest, _ in self.forests))
        return any(table[resource_class].rules for table in tables if resource_class in table)

    def served_by(self, row: int) -> Column:
        """Return a mask of the hosts that ``row`` shares with: those with a tree member in one of its aggregates.

        Only compute hosts are served: a volume that is placed on a pool uses that pool itself.
        """
        forests = [part.forest for part in self._table.partitions]
        key = ("served", row, *(forest.version for forest in forests))
        column = self._aggregates.get_or_compute(key, lambda: self._find_served_by(row))
        if len(self._table.kinds) == 1:
            return column
        servable: Column = self._table.kind[: self.hosts.size] == COMPUTE
        servable[row] = True
        return column & servable

    def any(self, test: ProviderTest[P], *args: P.args, **kwargs: P.kwargs) -> Column:
        """Return a mask of the hosts for which ``test`` is true of any provider in their tree or sharing with it.

        ``test`` is called with ProviderColumns and the further arguments.
        """
        own = test(self.hosts, *args, **kwargs)
        if self.are_flat:
            return own
        column = own.copy()
        for forest, below in self.forests:
            column[forest.root[: forest.size][test(below, *args, **kwargs) & forest.present[: forest.size]]] = True
        for row in self.sharing_rows[own[self.sharing_rows]].tolist():
            column |= self.served_by(row)
        return column

    def sum(self, count: ProviderCount[P], *args: P.args, **kwargs: P.kwargs) -> FloatColumn:
        """Return per host the sum of ``count`` over the providers of its tree and those sharing with it."""
        own = count(self.hosts, *args, **kwargs)
        column = own.astype(np.float64)
        for forest, below in self.forests:
            present = forest.present[: forest.size]
            counts = count(below, *args, **kwargs)[present]
            column += np.bincount(forest.root[: forest.size][present], counts, len(column))
        for row in self.sharing_rows.tolist():
            if own[row]:
                served = self.served_by(row).copy()
                served[row] = False  # already counted in its own tree
                column[served] += own[row]
        return column

    def free(self, resource_class: str) -> FloatColumn:
        """Return the sum of capacity minus usage of each host and the providers below it."""
        if not self.forests:
            return self.hosts.free(resource_class)
        return self._sum_over_tree(resource_class, ProviderColumns.free)

    def capacity(self, resource_class: str) -> FloatColumn:
        """Return the sum of capacity, used or not, of each host and the providers below it."""
        return self._sum_over_tree(resource_class, ProviderColumns.capacity)

    def _sum_over_tree(self, resource_class: str, amounts: ProviderCount[[str]]) -> FloatColumn:
        column = amounts(self.hosts, resource_class).astype(np.float64)
        for forest, below in self.forests:
            if resource_class in forest.resources:
                present = forest.present[: forest.size]
                values = amounts(below, resource_class)[present]
                column += np.bincount(forest.root[: forest.size][present], values, len(column))
        return column

    def find_sharing_rows(self, row: int) -> Iterator[int]:
        """Yield the rows of the providers that share with the tree of ``row``, except ``row`` itself."""
        for sharing_row in self.sharing_rows.tolist():
            if sharing_row != row and self.served_by(sharing_row)[row]:
                yield sharing_row

    def _find_served_by(self, row: int) -> Column:
        names = self._aggregates.of_row(row)
        column = self._aggregates.members(names).copy()
        for forest, below in self.forests:
            inside = below.members(names) & forest.present[: forest.size]
            column[forest.root[: forest.size][inside]] = True
        # A claim must be within one partition.
        column &= self._table.partition[: self.hosts.size] == self._table.partition[row]
        return column


def _descendant_columns(forest: Forest) -> ProviderColumns:
    size = forest.size
    return ProviderColumns(forest.resources, forest.traits, lambda names: forest.aggregates.has_any(names, size), size)
