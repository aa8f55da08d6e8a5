# SPDX-License-Identifier: Apache-2.0
"""The read-only view of the host table that a decision uses."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scheduler_svc.core.table.addresses import Network
from scheduler_svc.core.table.aggregates import AggregateView
from scheduler_svc.core.table.columns import Column, FloatColumn, IntColumn, read_only
from scheduler_svc.core.table.facts import FactView
from scheduler_svc.core.table.forest import Forest
from scheduler_svc.core.table.partition import LogPosition
from scheduler_svc.core.table.resources import ResourceColumns
from scheduler_svc.core.table.rows import COMPUTE
from scheduler_svc.core.table.traits import TraitColumns
from scheduler_svc.core.table.trees import TreeColumns

if TYPE_CHECKING:  # avoids an import cycle
    from scheduler_svc.core.table.table import HostTable

NO_LIMITS: Mapping[int, int] = MappingProxyType({})
UNKNOWN_ZONE = -2  # the code of a zone that no host reported


class UnitRules(NamedTuple):
    """The unit columns of a class in which at least one row has a restricting rule."""

    min_unit: IntColumn
    max_unit: IntColumn
    step_size: IntColumn


class View:
    """The table's columns, read-only, one element per row; valid within the block of HostTable.reading."""

    __slots__ = ("_table", "_trees", "instance_limits", "size")

    def __init__(self, table: HostTable, instance_limits: Mapping[int, int] = NO_LIMITS) -> None:
        self._table = table
        # Rows that take fewer instances in this decision than their columns allow, and how many; 0 excludes the row.
        self.instance_limits = instance_limits
        self._trees: TreeColumns | None = None
        self.size = len(table.names)

    @property
    def log_positions(self) -> Sequence[LogPosition]:
        """Return the log position of each partition, in the table's order."""
        return [part.log_position for part in self._table.partitions]

    def partition_numbers(self, names: Iterable[str]) -> dict[str, int]:
        """Return the partition number of each of these hosts; the first one if a host is in several."""
        return self._table.partition_numbers(names)

    def log_position(self, number: int = 0) -> LogPosition:
        """Return the position up to which a partition's log is applied to the columns."""
        return self._table.partitions[number].log_position

    def name(self, row: int) -> str:
        """Return the canonical resource name of ``row``."""
        return self._table.names[row]

    def row(self, name: str, number: int = 0) -> int | None:
        """Return the row of a canonical name in a partition, or None if it is unknown there."""
        return self._table.partitions[number].rows.get(name)

    def sums_since(self, name: str, number: int = 0) -> int:
        """Return the log position of a host's usage if it is later than its partition's position, else 0.

        A worker applies its own claims before it receives their log entries.
        """
        return self._table.sums_since(name, number)

    @property
    def present(self) -> Column:
        """Return a mask of the rows that are hosts now."""
        column = self._read_only(self._table.present)
        if self.instance_limits:
            column = column.copy()
            column[[row for row, limit in self.instance_limits.items() if not limit]] = False
        return column

    def with_instance_limits(self, instance_limits: Mapping[int, int]) -> View:
        """Return this view with a maximum number of instances for some rows."""
        return View(self._table, dict(instance_limits))

    def within(self, partition: str) -> Column:
        """Return a mask of the rows in a partition; all False if there is no such partition."""
        numbers = [part.number for part in self._table.partitions if part.name == partition]
        return self._read_only(self._table.partition) == numbers[0] if numbers else np.zeros(self.size, np.bool_)

    @property
    def alive(self) -> Column:
        """Return a mask of the rows whose service host is alive."""
        return self._read_only(self._table.services.alive)

    @property
    def enabled(self) -> Column:
        """Return a mask of the rows whose service host is enabled."""
        return self._read_only(self._table.services.enabled)

    @property
    def opened(self) -> Column:
        """Return a mask of the rows whose service host was audited in the current epoch."""
        return self._read_only(self._table.services.opened)

    @property
    def audit_pending(self) -> Column:
        """Return a mask of the rows whose service host is alive and has time left for its audit in this epoch."""
        return self._read_only(self._table.services.audit_pending)

    @property
    def audits_overdue(self) -> bool:
        """Whether the audit of a live service host is overdue."""
        return any(part.services.overdue for part in self._table.partitions)

    def in_zone(self, zone: str) -> Column:
        """Return a mask of the rows in an availability zone: by their aggregates, else by their own report."""
        code = self._table.zones.get(zone, UNKNOWN_ZONE)
        return self.aggregates.in_zone(zone, lambda: self._table.zone[: self.size] == code)

    def of_kind(self, service: str) -> Column | None:
        """Return a mask of the rows of a service ("compute", "volume" or "network"); None if all rows are."""
        table = self._table
        code = table.kinds.get(service)
        if code == COMPUTE and len(table.kinds) == 1:
            return None
        return np.zeros(self.size, np.bool_) if code is None else table.kind[: self.size] == code

    @property
    def aggregates(self) -> AggregateView:
        """Return the aggregates of the rows."""
        return AggregateView(self._table.aggregates, self.size)

    @property
    def facts(self) -> FactView:
        """Return the facts that hosts reported about themselves."""
        return FactView(self._table.facts, self.size)

    def within_network(self, network: Network) -> Column:
        """Return a mask of the rows whose address is in ``network``."""
        return self._table.addresses.within(network, self.size)

    def address(self, row: int) -> str | None:
        """Return the address that a row reported, or None."""
        return self._table.addresses.of(row)

    def zone(self, row: int) -> str | None:
        """Return the availability zone that a row reported; zones of aggregates override it."""
        code = self._table.zone[row]
        return next((zone for zone, zone_code in self._table.zones.items() if zone_code == code), None)

    def traits(self, row: int) -> set[str]:
        """Return the traits of a row."""
        return self._table.traits.of(row)

    @property
    def has_numa_cells(self) -> Column:
        """Return a mask of the rows that reported NUMA cells."""
        column = np.zeros(self.size, np.bool_)
        column[list(self._table.numa)] = True
        return column

    def numa(self, row: int) -> Sequence[Any]:
        """Return the states of a row's NUMA cells, as reported; empty if it has none."""
        return self._table.numa.get(row, ())

    def has_all(self, traits: Iterable[str]) -> Column:
        """Return a mask of the rows that have all of ``traits``."""
        return self._table.traits.has_all(traits, self.size)

    def has_any(self, traits: Iterable[str]) -> Column:
        """Return a mask of the rows that have at least one of ``traits``."""
        return self._table.traits.has_any(traits, self.size)

    def free(self, resource_class: str) -> FloatColumn:
        """Return capacity minus usage; 0 where a row lacks the class, negative where usage exceeds the capacity."""
        columns = self._table.resources.get(resource_class)
        return np.zeros(self.size, np.float64) if columns is None else self._read_only(columns.free)

    @property
    def trees(self) -> TreeColumns:
        """Return the hosts with their child providers and sharing providers."""
        if self._trees is None:
            self._trees = TreeColumns(self._table, self.aggregates, self.size)
        return self._trees

    def tree_free(self, resource_class: str) -> FloatColumn:
        """Return the sum of capacity minus usage over each row and the providers below it."""
        return self.trees.free(resource_class) if self.trees.forests else self.free(resource_class)

    def tree_capacity(self, resource_class: str) -> FloatColumn:
        """Return the sum of capacity, used or not, over each row and the providers below it."""
        return self.trees.capacity(resource_class)

    def in_tree_of(self, name: str, *, sharing: bool = False) -> Column:
        """Return a mask of the rows whose tree contains a provider; with ``sharing`` also of those it shares with."""
        column = np.zeros(self.size, np.bool_)
        for part in self._table.partitions:
            row = part.rows.get(name)
            if row is not None and self._table.present[row]:
                column[row] = True
                if sharing and row in self.trees.sharing_rows:
                    column |= self.trees.served_by(row)
            elif name in part.forest.rows and part.forest.present[part.forest.rows[name]]:
                column[part.forest.root[part.forest.rows[name]]] = True
        return column

    @property
    def resource_columns(self) -> Mapping[str, ResourceColumns]:
        """Return the columns of each class, for access to single rows."""
        return self._table.resources

    @property
    def trait_columns(self) -> TraitColumns:
        """Return the trait columns, for access to single rows."""
        return self._table.traits

    def forest(self, row: int) -> Forest:
        """Return the forest that contains the providers below ``row``."""
        return self._table.partitions[self._table.partition[row]].forest

    def capacity(self, resource_class: str) -> IntColumn:
        """Return the capacity of a class, used or not; 0 where a row lacks the class."""
        columns = self._table.resources.get(resource_class)
        return np.zeros(self.size, np.int64) if columns is None else self._read_only(columns.capacity)

    @property
    def classes(self) -> list[str]:
        """Return the resource classes that hosts and the providers below them have or had."""
        child_resources = [part.forest.resources for part in self._table.partitions]
        return list(
            dict.fromkeys(name for resources in (self._table.resources, *child_resources) for name in resources)
        )

    def rules(self, resource_class: str) -> UnitRules | None:
        """Return the unit rules of a class, or None if no rule can reject an amount that the capacity allows."""
        columns = self._table.resources.get(resource_class)
        if columns is None or not columns.rules:
            return None
        return UnitRules(
            self._read_only(columns.min_unit), self._read_only(columns.max_unit), self._read_only(columns.step_size)
        )

    def state(self, namespace: str, key: str) -> FloatColumn:
        """Return a key of the hosts' documents as numbers; NaN where it is not a number, true is 1 and false 0.

        In ``compute`` the key "metrics.<name>" is the metric that each node reported. In other namespaces a row has the
        value from the document of its own name or, if there is none, of its service host. Raises LookupError if the
        key is in no filter's or weigher's ``reads``.
        """
        return self._read_only(self._table.states.numbers(namespace, key))

    def state_is(self, namespace: str, key: str, text: str) -> Column:
        """Return a mask of the rows in which a key of the hosts' documents, as above, is this text."""
        return self._table.states.equals(namespace, key, text)[: self.size]

    def state_contains(self, namespace: str, key: str, text: str) -> Column:
        """Return a mask of the rows in which a key of the hosts' documents, as above, is a list with this text."""
        return self._table.states.contains(namespace, key, text, self.size)

    def documents(self, namespace: str) -> Mapping[str, Mapping[str, Any]]:
        """Return all documents of a namespace by name, reduced to keys in ``reads``; raises LookupError as above."""
        return ChainMap(*(part.documents.of(namespace) for part in self._table.partitions))

    def match_names(self, names: Iterable[str]) -> Column:
        """Return a mask of the rows with these names: of nodes, or of service hosts with all their nodes.

        Invalid names match no row; they may occur in documents of other namespaces.
        """
        column = np.zeros(self.size, np.bool_)
        for name in names:
            for part in self._table.partitions:
                column[part.find_rows(name)] = True
        return column

    def _read_only(self, column: npt.NDArray[Any]) -> Any:
        return read_only(column, self.size)
