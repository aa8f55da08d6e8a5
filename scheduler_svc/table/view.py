# SPDX-License-Identifier: Apache-2.0
"""What a decision sees of the host table."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scheduler_svc.table.addresses import Network
from scheduler_svc.table.aggregates import AggregatesSeen
from scheduler_svc.table.columns import Column, FloatColumn, IntColumn, still
from scheduler_svc.table.facts import FactsSeen
from scheduler_svc.table.forest import Forest
from scheduler_svc.table.partition import Standing
from scheduler_svc.table.resources import ResourceColumns
from scheduler_svc.table.rows import COMPUTE
from scheduler_svc.table.traits import TraitColumns
from scheduler_svc.table.trees import Trees

if TYPE_CHECKING:  # the table makes views
    from scheduler_svc.table.table import HostTable

NO_LIMITS: Mapping[int, int] = MappingProxyType({})
NOWHERE = -2  # the number of a zone that nobody reported


class UnitRules(NamedTuple):
    """The unit columns of a class in which at least one row has a rule of its own."""

    min_unit: IntColumn
    max_unit: IntColumn
    step_size: IntColumn


class View:
    """The table's columns, read-only, one element a row; valid while the table is held for reading."""

    __slots__ = ("_table", "_trees", "most", "size")

    def __init__(self, table: HostTable, most: Mapping[int, int] = NO_LIMITS) -> None:
        self._table = table
        self.most = most  # how many instances rows take in this decision, where fewer than columns tell; 0: not there
        self._trees: Trees | None = None
        self.size = len(table.names)

    @property
    def standings(self) -> Sequence[Standing]:
        """Return what has been read of each partition, in the table's order."""
        return [part.standing for part in self._table.partitions]

    def homes(self, names: Iterable[str]) -> dict[str, int]:
        """Return the number of the partition in which each of these hosts is; of several the first."""
        return self._table.homes_of(names)

    def standing(self, number: int = 0) -> Standing:
        """Return how far a partition's log has been read: everything up to its position is in the columns."""
        return self._table.partitions[number].standing

    def name(self, row: int) -> str:
        """Return the canonical resource name of ``row``."""
        return self._table.names[row]

    def row(self, name: str, number: int = 0) -> int | None:
        """Return the row of a canonical name in a partition, or None where that partition has not heard of it."""
        return self._table.partitions[number].rows.get(name)

    def sums_since(self, name: str, number: int = 0) -> int:
        """Return the position as of which a host's sums are known where that is after its partition's, else 0.

        A worker knows what it claimed itself before the log tells it.
        """
        return self._table.sums_since(name, number)

    @property
    def there(self) -> Column:
        """Return which rows are hosts now."""
        column = self._still(self._table.there)
        if self.most:
            column = column.copy()
            column[[row for row, most in self.most.items() if not most]] = False
        return column

    def limited(self, most: Mapping[int, int]) -> View:
        """Return the same view for a decision that has found out how many instances some rows take at most."""
        return View(self._table, dict(most))

    def within(self, partition: str) -> Column:
        """Return which rows are in that partition; none where there is no such partition."""
        numbers = [part.number for part in self._table.partitions if part.name == partition]
        return self._still(self._table.partition) == numbers[0] if numbers else np.zeros(self.size, np.bool_)

    @property
    def alive(self) -> Column:
        """Return whose service host reported lately."""
        return self._still(self._table.services.alive)

    @property
    def enabled(self) -> Column:
        """Return whose service host the operator lets take instances."""
        return self._still(self._table.services.enabled)

    @property
    def opened(self) -> Column:
        """Return whose service host was audited in this epoch."""
        return self._still(self._table.services.opened)

    @property
    def awaited(self) -> Column:
        """Return whose service host lives, is yet to be audited in this epoch, and has had little time for it."""
        return self._still(self._table.services.awaited)

    @property
    def audits_overdue(self) -> bool:
        """Whether a living service host has had its time for the audit, and has not audited."""
        return any(part.services.overdue for part in self._table.partitions)

    def in_zone(self, zone: str) -> Column:
        """Return which rows are in that availability zone: by their aggregates, else by what they reported."""
        code = self._table.zones.get(zone, NOWHERE)
        return self.aggregates.in_zone(zone, lambda: self._table.zone[: self.size] == code)

    def of_kind(self, service: str) -> Column | None:
        """Return which rows are that service's: "compute", "volume" or "network"; None where all are."""
        table = self._table
        code = table.kinds.get(service)
        if code == COMPUTE and len(table.kinds) == 1:
            return None
        return np.zeros(self.size, np.bool_) if code is None else table.kind[: self.size] == code

    @property
    def aggregates(self) -> AggregatesSeen:
        """Return who belongs to which aggregate."""
        return AggregatesSeen(self._table.aggregates, self.size)

    @property
    def facts(self) -> FactsSeen:
        """Return what hosts reported of themselves that many have in common."""
        return FactsSeen(self._table.facts, self.size)

    def within_network(self, network: Network) -> Column:
        """Return whose address is in ``network``."""
        return self._table.addresses.within(network, self.size)

    def address(self, row: int) -> str | None:
        """Return the address that a row reported."""
        return self._table.addresses.of(row)

    def zone(self, row: int) -> str | None:
        """Return the availability zone that a row reported; its aggregates may say otherwise."""
        code = self._table.zone[row]
        return next((zone for zone, its in self._table.zones.items() if its == code), None)

    def traits(self, row: int) -> set[str]:
        """Return the traits of a row."""
        return self._table.traits.of(row)

    @property
    def celled(self) -> Column:
        """Return which rows reported NUMA cells."""
        column = np.zeros(self.size, np.bool_)
        column[list(self._table.numa)] = True
        return column

    def numa(self, row: int) -> Sequence[Any]:
        """Return the states of a row's NUMA cells, as reported; none where it has none."""
        return self._table.numa.get(row, ())

    def having_all(self, traits: Iterable[str]) -> Column:
        """Return which rows have every one of ``traits``."""
        return self._table.traits.having_all(traits, self.size)

    def having_any(self, traits: Iterable[str]) -> Column:
        """Return which rows have at least one of ``traits``."""
        return self._table.traits.having_any(traits, self.size)

    def free(self, resource_class: str) -> FloatColumn:
        """Return capacity minus use; 0 where a row lacks the class, below 0 where it is over."""
        columns = self._table.resources.get(resource_class)
        return np.zeros(self.size, np.float64) if columns is None else self._still(columns.free)

    @property
    def trees(self) -> Trees:
        """Return the hosts with what hangs below them and what shares with them."""
        if self._trees is None:
            self._trees = Trees(self._table, self.aggregates, self.size)
        return self._trees

    def tree_free(self, resource_class: str) -> FloatColumn:
        """Return capacity minus use of each row and all that hangs below it, in sum."""
        return self.trees.free(resource_class) if self.trees.forests else self.free(resource_class)

    def tree_capacity(self, resource_class: str) -> FloatColumn:
        """Return what each row and all that hangs below it have of a class, used or not, in sum."""
        return self.trees.capacity(resource_class)

    def tree_named(self, name: str, *, sharing: bool = False) -> Column:
        """Return which rows are roots of the tree of a provider; or also those with which it shares."""
        column = np.zeros(self.size, np.bool_)
        for part in self._table.partitions:
            row = part.rows.get(name)
            if row is not None and self._table.there[row]:
                column[row] = True
                if sharing and row in self.trees.sharing:
                    column |= self.trees.served(row)
            elif name in part.forest.rows and part.forest.there[part.forest.rows[name]]:
                column[part.forest.root[part.forest.rows[name]]] = True
        return column

    @property
    def resource_columns(self) -> Mapping[str, ResourceColumns]:
        """Return the columns of each class, of which single rows are read."""
        return self._table.resources

    @property
    def trait_columns(self) -> TraitColumns:
        """Return the traits, of which single rows are read."""
        return self._table.traits

    def forest(self, row: int) -> Forest:
        """Return the forest in which the providers below ``row`` are."""
        return self._table.partitions[self._table.partition[row]].forest

    def capacity(self, resource_class: str) -> IntColumn:
        """Return what there is of a class, used or not; 0 where a row lacks it."""
        columns = self._table.resources.get(resource_class)
        return np.zeros(self.size, np.int64) if columns is None else self._still(columns.capacity)

    @property
    def classes(self) -> list[str]:
        """Return the resource classes that hosts, and what hangs below them, have been heard to have."""
        below = [part.forest.resources for part in self._table.partitions]
        return list(dict.fromkeys(name for each in (self._table.resources, *below) for name in each))

    def rules(self, resource_class: str) -> UnitRules | None:
        """Return the unit rules of a class, or None where none can refuse what capacity would take."""
        columns = self._table.resources.get(resource_class)
        if columns is None or not columns.rules:
            return None
        return UnitRules(self._still(columns.min_unit), self._still(columns.max_unit), self._still(columns.step_size))

    def state(self, namespace: str, key: str) -> FloatColumn:
        """Return a key of the hosts' documents as numbers; NaN where it is absent or none, true is 1 and false 0.

        In ``compute`` the key "metrics.<name>" is what each node reported of that metric. Elsewhere a row has what the
        document of its own name says or, where there is none, that of its service host. Raises LookupError for what
        nobody's reads hold.
        """
        return self._still(self._table.states.numbers(namespace, key))

    def state_is(self, namespace: str, key: str, text: str) -> Column:
        """Return in which rows a key of the hosts' documents, as above, is this text."""
        return self._table.states.having(namespace, key, text)[: self.size]

    def state_holds(self, namespace: str, key: str, text: str) -> Column:
        """Return in which rows a key of the hosts' documents, as above, is a list with this text in it."""
        return self._table.states.holding(namespace, key, text, self.size)

    def documents(self, namespace: str) -> Mapping[str, Mapping[str, Any]]:
        """Return all documents of a namespace by name, less what nobody reads; raises LookupError as above."""
        return ChainMap(*(part.documents.of(namespace) for part in self._table.partitions))

    def named(self, wanted: Iterable[str]) -> Column:
        """Return which rows are meant by ``wanted``: names of nodes, or of service hosts with all their nodes.

        What can be no canonical name means nobody: writers of other namespaces name hosts, too.
        """
        column = np.zeros(self.size, np.bool_)
        for name in wanted:
            for part in self._table.partitions:
                column[part.rows_named(name)] = True
        return column

    def _still(self, column: npt.NDArray[Any]) -> Any:
        return still(column, self.size)
