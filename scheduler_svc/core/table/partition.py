# SPDX-License-Identifier: Apache-2.0
"""Rows and state of one partition in the host table."""

import time
from collections.abc import Callable
from typing import NamedTuple

from rpcapi.resources import names
from scheduler_svc.core.table.forest import Forest
from scheduler_svc.core.table.partition_documents import PartitionDocuments
from scheduler_svc.core.table.services import ServiceColumns, ServiceStates

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
