# SPDX-License-Identifier: Apache-2.0
"""What the deciding core sees of a partition's hosts."""

from typing import Protocol

from scheduler_svc.table.table import HostTable


class Sight(Protocol):
    """One partition, and the table that its hosts are in, perhaps among others'."""

    number: int  # the partition's, in the table

    @property
    def partition(self) -> str:
        """The partition's name."""

    @property
    def table(self) -> HostTable:
        """The hosts as this worker knows them now."""

    @property
    def heard_s(self) -> float:
        """How many seconds ago the partition's store told what is new, or that nothing is."""

    def reach(self, position: int, timeout: float) -> bool:
        """Wait until the table holds all of the partition up to ``position``."""
