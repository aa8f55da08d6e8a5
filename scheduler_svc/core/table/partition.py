# SPDX-License-Identifier: Apache-2.0
"""One partition's part of the host table."""

import time
from collections.abc import Callable
from typing import NamedTuple

from rpcapi.resources import names
from scheduler_svc.core.table.forest import Forest
from scheduler_svc.core.table.partition_documents import PartitionDocuments
from scheduler_svc.core.table.services import ServiceColumns, ServiceStates

MIN_DEPARTURES = 1000  # departures before a partition is compacted


class LogPosition(NamedTuple):
    """Point up to which a partition's log is applied."""

    epoch: int
    position: int


class PartitionRows:
    """Rows of one partition, and its log position.

    ``number`` is the partition's index in the table. ``epoch`` is 0 before the first load. ``departures`` counts
    providers, service hosts and documents deleted since the last load; their names and log positions stay until the
    next. ``capitals`` has the service hosts whose names have capitals, by the name in lower case.
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
        """Begin an epoch, if it is later than the current one."""
        if epoch > self.epoch:
            self.epoch = epoch
            self.services.set_epoch(epoch)

    @property
    def needs_compaction(self) -> bool:
        """Whether most names have departed, so that a reload would free their rows."""
        return 2 * self.departures > max(2 * MIN_DEPARTURES, len(self.rows) + self.forest.size)

    def add_row(self, name: str, row: int) -> None:
        self.rows[name] = row
        host = names.host_of(name)
        if host != host.lower():
            self.capitals.setdefault(host.lower(), set()).add(host)

    def find_rows(self, name: str) -> list[int]:
        """Return the rows of a canonical name: a node's row, or all rows that a service host ever had."""
        row = self.rows.get(name)
        host_rows = self.services.rows_of(name)
        return host_rows if row is None else [*host_rows, row]
