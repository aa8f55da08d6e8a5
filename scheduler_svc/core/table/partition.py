# SPDX-License-Identifier: Apache-2.0
"""The part of the host table that belongs to one partition."""

from typing import NamedTuple

from scheduler_svc.core.table.forest import Forest
from scheduler_svc.core.table.partition_documents import PartitionDocuments
from scheduler_svc.core.table.services import ServiceColumns, ServiceStates

MIN_DEPARTURES = 1000  # before a partition is compacted


class LogPosition(NamedTuple):
    """The point up to which a partition's log is applied: all entries up to ``position``, in ``epoch``."""

    epoch: int
    position: int


class PartitionRows:
    """The rows of one partition, and the position up to which its log is applied.

    ``number`` is the partition's index in the table. A partition that was never loaded has epoch 0.
    ``departures`` counts providers, service hosts and documents that were deleted since it was loaded, of which the
    table keeps the names and log positions until it is loaded again.
    """

    __slots__ = ("departures", "documents", "epoch", "forest", "name", "number", "position", "rows", "services")

    def __init__(self, name: str, number: int, columns: ServiceColumns, documents: PartitionDocuments) -> None:
        self.name = name
        self.number = number
        self.epoch = 0
        self.position = 0
        self.departures = 0
        self.rows: dict[str, int] = {}
        self.forest = Forest()
        self.services = ServiceStates(columns)
        self.documents = documents

    @property
    def log_position(self) -> LogPosition:
        """Return the epoch and the position up to which the log is applied."""
        return LogPosition(self.epoch, self.position)

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch; ignored unless it is later than the current one."""
        if epoch > self.epoch:
            self.epoch = epoch
            self.services.set_epoch(epoch)

    @property
    def needs_compaction(self) -> bool:
        """Whether most names in the table departed, so that loading the partition again frees their rows."""
        return 2 * self.departures > max(2 * MIN_DEPARTURES, len(self.rows) + self.forest.size)

    def find_rows(self, name: str) -> list[int]:
        """Return the rows of a canonical name: the row of a node, or all rows a service host ever had."""
        row = self.rows.get(name)
        host_rows = self.services.rows_of(name)
        return host_rows if row is None else [*host_rows, row]
