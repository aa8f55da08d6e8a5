# SPDX-License-Identifier: Apache-2.0
"""Reported NUMA cells."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scheduler_svc.core.table.columns import Column


class NumaView:
    """Reported NUMA cells of a view. Rows outside mask ``only`` (None: all rows) have no cells."""

    __slots__ = ("_cells", "_size")

    def __init__(self, cells: Mapping[int, Sequence[Any]], size: int, only: Column | None = None) -> None:
        self._cells = cells if only is None else {row: states for row, states in cells.items() if only[row]}
        self._size = size

    @property
    def has_cells(self) -> Column:
        column = np.zeros(self._size, np.bool_)
        column[list(self._cells)] = True
        return column

    def of(self, row: int) -> Sequence[Any]:
        return self._cells.get(row, ())
