# SPDX-License-Identifier: Apache-2.0
"""Rows, documents and state of one partition in the host table."""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rpcapi.resources import names
from scheduler_svc.core.namespaces.registry import COMPOSED
from scheduler_svc.core.reads import NO_READS, Reads
from scheduler_svc.core.table.forest import Forest
from scheduler_svc.core.table.read_errors import explain_namespace
from scheduler_svc.core.table.services import ServiceColumns, ServiceStates

_ABSENT = object()

Document = Mapping[str, Any]


class PartitionDocuments:
    """Documents of one partition, reduced to the keys in ``reads``."""

    __slots__ = ("_documents", "_keys", "_positions")

    def __init__(self, reads: Reads = NO_READS) -> None:
        self._keys: dict[str, frozenset[str]] = {}
        self._documents: dict[str, dict[str, Document]] = {}
        self._positions: dict[tuple[str, str], int] = {}
        self.add_reads(reads)

    def add_reads(self, reads: Reads) -> None:
        for namespace, keys in reads.items():
            if namespace not in COMPOSED:
                self._keys[namespace] = self._keys.get(namespace, frozenset()) | keys
                self._documents.setdefault(namespace, {})

    @property
    def namespaces(self) -> list[str]:
        return list(self._documents)

    def put(self, namespace: str, name: str, document: Document | None, position: int) -> bool:
        """Store or delete (None) a document, unless a newer one is stored. Return whether stored keys changed."""
        documents = self._documents.get(namespace)
        if documents is None or position < self._positions.get((namespace, name), 0):
            return False
        self._positions[namespace, name] = position
        if document is None:
            return documents.pop(name, None) is not None
        stored = {key: document[key] for key in self._keys[namespace] if key in document}
        changed = documents.get(name, _ABSENT) != stored
        documents[name] = stored
        return changed

    def of(self, namespace: str) -> dict[str, Document]:
        """Return the documents by name. Raises LookupError if the namespace is not stored."""
        if namespace not in self._documents:
            raise LookupError(explain_namespace(namespace))
        return self._documents[namespace]

    def find(self, namespace: str, name: str) -> Document | None:
        """Return the document with exactly this name, or None. The namespace must be stored."""
        return self._documents[namespace].get(name)


MIN_DEPARTURES = 1000  # departures below which a partition is never compacted


class LogPosition(NamedTuple):
    """Point up to which a partition's log is applied."""

    epoch: int
    position: int


class PartitionRows:
    """Rows of one partition, with its log position. ``epoch`` is 0 before the first load.

    ``departures`` counts deleted providers, service hosts and documents: their names and log positions stay until the
    next load. ``capitals`` maps names in lower case to service hosts whose names have capitals.
    """

    __slots__ = (
        "capitals",
        "departures",
        "documents",
        "epoch",
        "forest",
        "name",
        "number",
        "position",
        "rows",
        "services",
    )

    def __init__(
        self,
        name: str,
        number: int,
        columns: ServiceColumns,
        documents: PartitionDocuments,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.number = number
        self.epoch = 0
        self.position = 0
        self.departures = 0
        self.rows: dict[str, int] = {}
        self.capitals: dict[str, set[str]] = {}
        self.forest = Forest()
        self.services = ServiceStates(columns, clock)
        self.documents = documents

    @property
    def log_position(self) -> LogPosition:
        return LogPosition(self.epoch, self.position)

    def set_epoch(self, epoch: int) -> None:
        if epoch > self.epoch:
            self.epoch = epoch
            self.services.set_epoch(epoch)

    @property
    def needs_compaction(self) -> bool:
        """Whether most names have departed: a reload would free their rows."""
        return 2 * self.departures > max(2 * MIN_DEPARTURES, len(self.rows) + self.forest.size)

    def add_row(self, name: str, row: int) -> None:
        self.rows[name] = row
        host = names.host_of(name)
        if host != host.lower():
            self.capitals.setdefault(host.lower(), set()).add(host)

    def find_rows(self, name: str) -> list[int]:
        """Return the row of a node, or all rows that a service host ever had. ``name`` is canonical."""
        row = self.rows.get(name)
        host_rows = self.services.rows_of(name)
        return host_rows if row is None else [*host_rows, row]
