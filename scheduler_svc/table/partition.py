# SPDX-License-Identifier: Apache-2.0
"""One partition's share of the host table."""

from typing import NamedTuple

from scheduler_svc.table.forest import Forest
from scheduler_svc.table.services import ServiceColumns, ServiceHosts
from scheduler_svc.table.states import Documents


class Standing(NamedTuple):
    """What state of a partition is read: everything up to ``position`` of its log is in it."""

    epoch: int
    position: int


class PartitionRows:
    """Which rows of the table are the partition's, and how far its log has been read.

    ``number`` is its place in the table's order. A partition that was never read is in epoch 0.
    """

    __slots__ = ("documents", "epoch", "forest", "name", "number", "position", "rows", "services")

    def __init__(self, name: str, number: int, columns: ServiceColumns, documents: Documents) -> None:
        self.name = name
        self.number = number
        self.epoch = 0
        self.position = 0
        self.rows: dict[str, int] = {}
        self.forest = Forest()
        self.services = ServiceHosts(columns)
        self.documents = documents

    @property
    def standing(self) -> Standing:
        """Return what has been read of it."""
        return Standing(self.epoch, self.position)

    def set_epoch(self, epoch: int) -> None:
        """Begin an epoch, unless a later one has begun."""
        if epoch > self.epoch:
            self.epoch = epoch
            self.services.set_epoch(epoch)

    def rows_named(self, name: str) -> list[int]:
        """Return the rows that a canonical name means: a node's, or all that a service host ever had."""
        row = self.rows.get(name)
        of_host = self.services.rows_of(name)
        return of_host if row is None else [*of_host, row]
