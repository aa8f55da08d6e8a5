# SPDX-License-Identifier: Apache-2.0
"""Rows of the host table, with their columns."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rpcapi.resources import names
from scheduler_svc.core.namespaces import compute_node
from scheduler_svc.core.reads import Reads
from scheduler_svc.core.table.addresses import AddressColumn
from scheduler_svc.core.table.aggregates import NAMESPACE as AGGREGATE
from scheduler_svc.core.table.aggregates import AggregateColumns
from scheduler_svc.core.table.columns import FIRST_ROWS, IntColumn, Rows
from scheduler_svc.core.table.facts import FactColumn
from scheduler_svc.core.table.partition import Document, PartitionDocuments, PartitionRows
from scheduler_svc.core.table.provider_rows import ProviderRows
from scheduler_svc.core.table.services import ServiceColumns
from scheduler_svc.core.table.state_columns import StateColumns

PROVIDER = "provider"  # kind of API-owned providers
NO_ZONE = -1
COMPUTE = 0  # code of kind "compute" in column ``kind``


class HostRows(ProviderRows):
    """One row per root provider of each partition; a host that moves between partitions may have two.

    ``present`` is False for a deleted provider, or while only its usage is known. A reload of the partition frees the
    rows that the snapshot lacks; a free row has name "".
    """

    EMPTY: ClassVar = {
        **ProviderRows.EMPTY,
        "zone": np.int64(NO_ZONE),
        "kind": np.int8(COMPUTE),
        "partition": np.int16(0),
    }

    zone: IntColumn
    kind: npt.NDArray[np.int8]
    partition: npt.NDArray[np.int16]

    def __init__(self, partitions: Sequence[str], reads: Reads, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.reads = reads
        self._free: list[int] = []
        self.zones: dict[str, int] = {}
        self.kinds: dict[str, int] = {"compute": COMPUTE}
        self.facts = FactColumn(FIRST_ROWS)
        self.addresses = AddressColumn(FIRST_ROWS)
        self.numa: dict[int, Sequence[Any]] = {}  # {row: reported NUMA cells}
        # {row that made a built-in filter or weigher fail: its reported (facts, NUMA cells)}
        self.rows_set_aside: dict[int, tuple[Any, Any]] = {}
        self.aggregates = AggregateColumns(FIRST_ROWS)
        self.services = ServiceColumns(FIRST_ROWS)
        self.states = StateColumns(FIRST_ROWS, reads)
        self.partitions = [
            PartitionRows(name, number, self.services, PartitionDocuments(reads), clock)
            for number, name in enumerate(partitions)
        ]
        # Column groups that a load copies. Aggregates are applied again instead, because all partitions share them.
        self._copied: tuple[Any, ...] = (*self._parts, self.facts, self.addresses, self.services, self.states)
        self._parts = (*self._copied, self.aggregates)

    def usage_position(self, name: str, number: int = 0) -> int:
        """Return the log position of usage that is ahead of the partition's log, else 0."""
        part = self.partitions[number]
        position = self._used_position(part, name)
        return position if position > part.position else 0

    def _apply_state(self, namespace: str, row: int) -> None:
        document = self._find_document(namespace, row)
        self.states.set_document(row, namespace, document)
        if namespace == compute_node.NAMESPACE and names.is_api_provider(self.names[row]):
            self._apply_compute_node(row, document)

    def _apply_compute_node(self, row: int, document: Document | None) -> None:
        kind = "compute" if document else PROVIDER
        self.kind[row] = self.kinds.setdefault(kind, len(self.kinds))
        self.aggregates.drop_answers()
        self._apply_host_keys(row, document or {})

    def _apply_host_keys(self, row: int, document: Document) -> None:
        self.states.set_metrics(row, document.get("metrics", {}))
        self.addresses.set_row(row, document.get("host_ip"))
        facts, numa = document.get("facts") or None, document.get("numa") or None
        if row in self.rows_set_aside:
            if self.rows_set_aside[row] == (facts, numa):
                return
            del self.rows_set_aside[row]
        self._set_facts(row, facts, numa)

    def _set_facts(self, row: int, facts: Mapping[str, Any] | None, numa: Sequence[Any] | None) -> None:
        self.facts.set_row(row, facts)
        self.numa.pop(row, None)
        if numa:
            self.numa[row] = numa

    def set_aside(self, rows: Iterable[int]) -> None:
        """Exclude rows from decisions until their hosts report different facts or NUMA cells."""
        for row in rows:
            self.rows_set_aside.setdefault(row, (self.facts.of(row) or None, self.numa.get(row)))
            self._set_facts(row, None, None)

    def _find_document(self, namespace: str, row: int) -> Document | None:
        """Return the document of a node, or else of its service host. The row's own partition takes precedence."""
        home = self.partitions[int(self.partition[row])]
        for name in (self.names[row], names.host_of(self.names[row])):
            for part in (home, *self._other_partitions(home)):
                document = part.documents.find(namespace, name)
                if document is not None:
                    return document
        return None

    def _apply_aggregates(self, row: int) -> None:
        name = self.names[row]
        self.aggregates.set_row(row, self.aggregates.of(name, names.host_of(name)) | self.aggregates.own_of(name))

    def _apply_child_aggregates(self, part: PartitionRows, name: str) -> None:
        part.forest.set_aggregates(name, self.aggregates.of(name) | self.aggregates.own_of(name))

    def _apply_members(self, members: Iterable[str]) -> None:
        for name in members:
            for part in self.partitions:
                for row in part.find_rows(name):
                    self._apply_aggregates(row)
                self._apply_child_aggregates(part, name)

    def _other_partitions(self, part: PartitionRows) -> list[PartitionRows]:
        return [other for other in self.partitions if other is not part]

    def _apply_documents(self, part: PartitionRows, documents: PartitionDocuments) -> None:
        for namespace in documents.namespaces:
            for name in documents.of(namespace):
                for row in part.find_rows(name):
                    self._apply_state(namespace, row)

    def _replace_partition(self, part: PartitionRows, source: "HostRows") -> None:
        """Replace a partition's rows by the rows of ``source``, a table of only this partition, which is consumed."""
        (source_part,) = source.partitions
        self._free_rows(part, [name for name in part.rows if name not in source_part.rows])
        numbers = [self._allocate_row(part, name) for name in source.names]
        rows = np.array(numbers, np.intp)
        self.copy_from(rows, source)
        self.partition[rows] = part.number
        zones = [self.zones.setdefault(zone, len(self.zones)) for zone in source.zones]
        self.zone[rows] = np.array([*zones, NO_ZONE], np.int64)[source.zone[: len(rows)]]  # NO_ZONE is index -1
        for columns, source_columns in zip(self._copied, source._copied, strict=True):
            columns.copy_from(rows, source_columns)
        kinds = [self.kinds.setdefault(kind, len(self.kinds)) for kind in source.kinds]
        self.kind[rows] = np.array(kinds, np.int8)[source.kind[: len(rows)]]
        for row in numbers:
            self.numa.pop(row, None)
            self.rows_set_aside.pop(row, None)
        self.numa |= {numbers[row]: cells for row, cells in source.numa.items()}
        part.services.copy_from(numbers, source_part.services)
        part.forest = source_part.forest
        part.forest.renumber_hosts(numbers)
        former, part.documents = part.documents, source_part.documents
        part.documents.add_reads(self.reads)
        for other in self._other_partitions(part):
            self._apply_documents(part, other.documents)
            self._apply_documents(other, former)
            self._apply_documents(other, part.documents)
        self.aggregates.replace_own(part.number, source.aggregates)
        self._replace_aggregates(part, rows)
        part.epoch, part.position = source_part.epoch, source_part.position
        part.departures = 0

    def _replace_aggregates(self, part: PartitionRows, rows: Rows) -> None:
        if AGGREGATE in part.documents.namespaces:
            self._apply_members(self.aggregates.replace(part.number, part.documents.of(AGGREGATE)))
        for row in rows.tolist():
            self._apply_aggregates(row)
        for name in part.forest.names:
            self._apply_child_aggregates(part, name)

    def _free_rows(self, part: PartitionRows, departed: Iterable[str]) -> None:
        numbers = [part.rows.pop(name) for name in departed]
        for row in numbers:
            self.names[row] = ""
        self.clear(np.array(numbers, np.intp))
        self._free += numbers

    def clear(self, rows: Rows) -> None:
        for name, value in self.EMPTY.items():
            getattr(self, name)[rows] = value
        for row in rows.tolist():
            self.numa.pop(row, None)
            self.rows_set_aside.pop(row, None)
        for columns in self._parts:
            columns.clear(rows)

    def _row(self, part: PartitionRows, name: str) -> int:
        row = part.rows.get(name)
        if row is None:
            row = self._allocate_row(part, name)
            self._initialize_row(part, row, name)
        return row

    def _initialize_row(self, part: PartitionRows, row: int, name: str) -> None:
        part.services.add_row(row, names.host_of(name))
        for namespace in part.documents.namespaces:
            self._apply_state(namespace, row)
        self._apply_aggregates(row)
        if name in part.forest.rows:
            self._used_positions[row] = part.forest.used_position(name)
            self.resources.set_used(row, part.forest.used(name))

    def _used_position(self, part: PartitionRows, name: str) -> int:
        row = part.rows.get(name)
        return part.forest.used_position(name) if row is None else int(self._used_positions[row])

    def _allocate_row(self, part: PartitionRows, name: str) -> int:
        """Return the row of a name. The caller must initialize a new row and assign it to its service host."""
        row = part.rows.get(name)
        if row is not None:
            return row
        if self._free:
            row = self._free.pop()
            self.names[row] = name
        else:
            row = self._append(name)
        part.add_row(name, row)
        self.partition[row] = part.number
        return row
