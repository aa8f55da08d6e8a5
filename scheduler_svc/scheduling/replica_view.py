# SPDX-License-Identifier: Apache-2.0
"""The read interface of the deciding core to a partition's hosts."""

from collections.abc import Collection, Sequence
from typing import Protocol

from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.partition import LogPosition
from scheduler_svc.core.table.table import HostTable


class ReplicaView(Protocol):
    """One partition's view of the host table, which other partitions may share."""

    number: int  # the partition's, in the table

    @property
    def partition(self) -> str:
        """The partition's name."""

    @property
    def table(self) -> HostTable:
        """This worker's host table."""

    @property
    def log_position(self) -> LogPosition:
        """Epoch and position up to which the table has the partition's log."""

    @property
    def last_contact_s(self) -> float:
        """Seconds since the partition's store last answered, with news or without."""

    def apply_carried(self, entries: Sequence[LogEntry], epochs: Collection[int]) -> None:
        """Apply log entries after ``log_position`` that came with answers to claims, which were of these epochs."""

    def reach(self, position: int, timeout: float) -> bool:
        """Wait until the table has the partition's log up to ``position``; return whether it has."""
