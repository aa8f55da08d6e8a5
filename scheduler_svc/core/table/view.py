# SPDX-License-Identifier: Apache-2.0
"""Read-only view of the host table for decisions; docs/plugins.md lists what plugins may use."""

from collections import ChainMap
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from scheduler_svc.core.reads import INSTANCES, IO_OPS, UNCONFIRMED_RESIZES
from scheduler_svc.core.table.addresses import Network
from scheduler_svc.core.table.aggregates import ZONE, AggregateView
from scheduler_svc.core.table.columns import Column, FloatColumn, Rows, read_only
from scheduler_svc.core.table.facts import FactView
from scheduler_svc.core.table.partition import LogPosition
from scheduler_svc.core.table.provider_columns import ProviderColumns
from scheduler_svc.core.table.rows import COMPUTE, HostRows
from scheduler_svc.core.table.services import ServiceView
from scheduler_svc.core.table.trees import TreeColumns

NO_LIMITS: Mapping[int, int] = MappingProxyType({})
UNKNOWN_ZONE = -2  # code of a zone that no host reported


class View:
    """Read-only columns of the host table, one element per row. Valid only inside the block of HostTable.reading."""

    __slots__ = ("_only", "_services", "_table", "_trees", "instance_limits", "size")

    def __init__(
        self, table: HostRows, instance_limits: Mapping[int, int] = NO_LIMITS, only: Column | None = None
    ) -> None:
        self._table = table
        self._only = only  # rows whose facts and NUMA cells are visible; None: all
        # {row: maximum instances in this decision, fewer than the columns allow}; 0 excludes the row.
        self.instance_limits = instance_limits
        self._services: ServiceView | None = None
        self._trees: TreeColumns | None = None
        self.size = len(table.names)

    def with_instance_limits(self, instance_limits: Mapping[int, int]) -> "View":
        """Return a view that limits the number of instances on some rows."""
        return View(self._table, dict(instance_limits), self._only)

    def with_facts_of(self, rows: Sequence[int]) -> "View":
        """Return a view that shows the facts and NUMA cells of these rows only."""
        only = np.zeros(self.size, np.bool_)
        only[rows] = True
        return View(self._table, self.instance_limits, only)

    @property
    def rows_with_facts(self) -> list[int]:
        """Rows with facts or NUMA cells, sorted by name."""
        return sorted({*self._table.facts.rows, *self._table.numa}, key=self._table.names.__getitem__)

    def set_aside(self, rows: Iterable[int]) -> None:
        """Exclude rows from all decisions until their hosts report other facts; see HostRows.set_aside."""
        self._table.set_aside(rows)

    @property
    def rows_set_aside(self) -> Collection[int]:
        """Rows excluded by ``set_aside``."""
        return self._table.rows_set_aside.keys()

    @property
    def present(self) -> Column:
        """Mask of existing hosts, without rows whose instance limit is 0."""
        column = read_only(self._table.present, self.size)
        if self.instance_limits:
            column = column.copy()
            column[[row for row, limit in self.instance_limits.items() if not limit]] = False
        return column

    def of_kind(self, service: str) -> Column | None:
        """Return a mask of the hosts of a service: "compute", "volume" or "network". None means all hosts."""
        table = self._table
        code = table.kinds.get(service)
        if code == COMPUTE and len(table.kinds) == 1:
            return None
        return np.zeros(self.size, np.bool_) if code is None else table.kind[: self.size] == code

    def name(self, row: int) -> str:
        """Return the canonical name of ``row``."""
        return self._table.names[row]

    def names(self, rows: Rows) -> list[str]:
        """Return the canonical names of ``rows``."""
        names = self._table.names
        return [names[row] for row in rows.tolist()]

    def rows(self, names: Iterable[str], number: int = 0) -> Rows:
        """Return the rows of ``names`` in a partition, in order, without unknown names."""
        rows = self._table.partitions[number].rows
        return np.array([rows[name] for name in names if name in rows], np.intp)

    def row(self, name: str, number: int = 0) -> int | None:
        """Return the row of a name in a partition, or None if unknown."""
        return self._table.partitions[number].rows.get(name)

    def match_names(self, names: Iterable[str]) -> Column:
        """Return a mask of nodes, service hosts' nodes and compute nodes of these names. Ignores invalid names."""
        column = np.zeros(self.size, np.bool_)
        for name in names:
            for part in self._table.partitions:
                column[part.find_rows(name)] = True
            compute_nodes = self._table.states.match_compute_node(name)
            if compute_nodes is not None:
                column |= compute_nodes[: self.size]
        return column

    def in_zone(self, zone: str) -> Column:
        """Return a mask of the hosts in a zone, by their aggregates or else their reports."""
        code = self._table.zones.get(zone, UNKNOWN_ZONE)
        return self.aggregates.in_zone(zone, lambda: self._table.zone[: self.size] == code)

    def zone(self, row: int) -> str | None:
        """Return a host's zone: from its first aggregate (by name) with a zone, or else as reported."""
        zones = self.aggregates.metadata_values(ZONE)
        names = sorted(zones.keys() & self.aggregates.of_row(row))
        if names:
            return zones[names[0]]
        code = self._table.zone[row]
        return next((zone for zone, zone_code in self._table.zones.items() if zone_code == code), None)

    @property
    def log_positions(self) -> Sequence[LogPosition]:
        """Log positions of the partitions, by partition number."""
        return [part.log_position for part in self._table.partitions]

    def in_partition(self, partition: str) -> Column:
        """Return a mask of the hosts in a partition, all False if unknown."""
        numbers = [part.number for part in self._table.partitions if part.name == partition]
        return self._table.partition[: self.size] == numbers[0] if numbers else np.zeros(self.size, np.bool_)

    def partition_numbers(self, names: Iterable[str]) -> dict[str, int]:
        """Return {node: partition number}. A node in several partitions gets the first."""
        if len(self._table.partitions) == 1:
            return dict.fromkeys(names, 0)
        return {
            name: part.number
            for name in names
            for part in reversed(self._table.partitions)
            if name in part.rows and self._table.present[part.rows[name]]
        }

    def usage_position(self, name: str, number: int = 0) -> int:
        """Return the log position of usage that this worker's claims put ahead of the log, else 0."""
        return self._table.usage_position(name, number)

    @property
    def services(self) -> ServiceView:
        """State of each row's service host."""
        if self._services is None:
            partitions = (part.services for part in self._table.partitions)
            self._services = ServiceView(self._table.services, partitions, self.size)
        return self._services

    @property
    def aggregates(self) -> AggregateView:
        """Aggregates of the hosts, with their metadata."""
        return AggregateView(self._table.aggregates, self.size)

    @property
    def facts(self) -> FactView:
        """Facts reported by hosts."""
        return FactView(self._table.facts, self.size, self._only)

    def in_network(self, network: Network) -> Column:
        """Return a mask of the hosts with a reported IP address in ``network``."""
        return self._table.addresses.within(network, self.size)

    def address(self, row: int) -> str | None:
        """Return the reported IP address of ``row``."""
        return self._table.addresses.of(row)

    @property
    def has_numa_cells(self) -> Column:
        """Mask of the rows that reported NUMA cells."""
        column = np.zeros(self.size, np.bool_)
        column[list(self._table.numa)] = True
        return column if self._only is None else column & self._only

    def numa_cells(self, row: int) -> Sequence[Any]:
        """Return the reported NUMA cells of ``row``."""
        return self._table.numa.get(row, ()) if self._only is None or self._only[row] else ()

    @property
    def hosts(self) -> ProviderColumns:
        """Resources and traits of root providers, without child providers."""
        return self.trees.hosts

    @property
    def trees(self) -> TreeColumns:
        """Hosts with their child and sharing providers."""
        if self._trees is None:
            self._trees = TreeColumns(self._table, self.aggregates, self.size)
        return self._trees

    @property
    def all_trees(self) -> TreeColumns:
        """Trees as in Placement: every existing sharing provider serves them, whatever its state."""
        return TreeColumns(self._table, self.aggregates, self.size, everywhere=True)

    def state(self, namespace: str, key: str) -> FloatColumn:
        """Return a key of the hosts' documents as numbers: True is 1, False 0, anything else NaN.

        In ``compute``, key "metrics.<name>" is a reported metric; "metrics.instances" and "metrics.io_ops" also count
        the claims that the host has not reported yet. Elsewhere, a node's own document precedes that of its service
        host. Raises LookupError if no ``reads`` lists the key, or if a View member of its own provides it.
        """
        reported = read_only(self._table.states.numbers(namespace, key), self.size)
        if namespace != "compute" or key not in (INSTANCES, IO_OPS):
            return reported
        claims = self.counted_claims(key)
        return np.fmax(reported, np.where(claims > 0, claims, np.nan))

    def counted_claims(self, key: str) -> FloatColumn:
        """Return how many claims per row count in metric INSTANCES or IO_OPS; NaN if unknown.

        Every claim counts as an instance. It counts as a build until its host reports the instance as built; on an
        agent's node, those of Placement clients never do.
        """
        counts, size = self._table.resources.counts, self.size
        if key == INSTANCES:
            return counts.claims[:size].astype(np.float64)
        instances, io_ops, resizes = (
            self._table.states.numbers("compute", name)[:size] for name in (INSTANCES, IO_OPS, UNCONFIRMED_RESIZES)
        )
        built = np.maximum(instances - np.nan_to_num(io_ops), 0) + np.nan_to_num(resizes)
        builds: FloatColumn = (counts.claims - counts.foreign_claims)[:size] - built
        return builds

    def state_is(self, namespace: str, key: str, text: str) -> Column:
        """Return a mask of the hosts whose key equals ``text``. Keys and errors as in ``state``."""
        return self._table.states.equals(namespace, key, text)[: self.size]

    def state_contains(self, namespace: str, key: str, text: str) -> Column:
        """Return a mask of the hosts whose key is a list with ``text``. Keys and errors as in ``state``."""
        return self._table.states.contains(namespace, key, text, self.size)

    def documents(self, namespace: str) -> Mapping[str, Mapping[str, Any]]:
        """Return {name: document} of a namespace, reduced to ``reads``. Raises LookupError like ``state``."""
        return ChainMap(*(part.documents.of(namespace) for part in self._table.partitions))
