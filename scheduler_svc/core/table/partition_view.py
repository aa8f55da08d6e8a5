# SPDX-License-Identifier: Apache-2.0
"""Partitions of the host table, as decisions read them."""

from collections.abc import Iterable, Sequence

import numpy as np

from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.partition import LogPosition
from scheduler_svc.core.table.rows import HostRows


class PartitionView:
    """Partitions of a view, numbered in the table's order."""

    __slots__ = ("_table",)

    def __init__(self, table: HostRows) -> None:
        self._table = table

    def __len__(self) -> int:
        return len(self._table.partitions)

    def members(self, partition: str) -> Column:
        """Return a mask of the rows in a partition; all False if it is unknown."""
        size = len(self._table.names)
        numbers = [part.number for part in self._table.partitions if part.name == partition]
        return self._table.partition[:size] == numbers[0] if numbers else np.zeros(size, np.bool_)

    @property
    def log_positions(self) -> Sequence[LogPosition]:
        return [part.log_position for part in self._table.partitions]

    def numbers(self, names: Iterable[str]) -> dict[str, int]:
        """Return {node: partition number}; a node in several partitions gets the first."""
        if len(self._table.partitions) == 1:
            return dict.fromkeys(names, 0)
        return {
            name: part.number
            for name in names
            for part in reversed(self._table.partitions)
            if name in part.rows and self._table.present[part.rows[name]]
        }

    def sums_since(self, name: str, number: int = 0) -> int:
        """Return the log position of a provider's usage if this worker's claims put it ahead of the log, else 0."""
        return self._table.sums_since(name, number)
