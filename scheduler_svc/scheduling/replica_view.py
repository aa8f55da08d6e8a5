# SPDX-License-Identifier: Apache-2.0
"""Read interface to a partition's hosts, for the deciding core."""

from collections.abc import Collection, Sequence
from typing import Protocol

from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.partition import LogPosition
from scheduler_svc.core.table.table import HostTable


class ReplicaView(Protocol):
    """One partition's view of the host table, which partitions may share."""

    number: int  # number of the partition in the table

    @property
    def partition(self) -> str:
        """Name of the partition."""

    @property
    def table(self) -> HostTable:
        """This worker's host table."""

    @property
    def log_position(self) -> LogPosition:
        """Epoch and position up to which the partition's log is applied."""

    @property
    def last_contact_s(self) -> float:
        """Seconds since the partition's store last answered."""

    def apply_carried(self, entries: Sequence[LogEntry], epochs: Collection[int]) -> None:
        """Apply log entries after ``log_position`` that came with answers to claims of these epochs."""

    def reach(self, position: int, timeout: float) -> bool:
        """Wait until the partition's log is applied up to ``position``; return whether it is."""
