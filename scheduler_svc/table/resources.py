# SPDX-License-Identifier: Apache-2.0
"""The columns of one resource class."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rpcapi.model.inventory import MAX_AMOUNT
from scheduler_svc.table.columns import Column, FloatColumn, IntColumn, Rows, grown

_ABSENT: Mapping[str, Any] = {"capacity": 0, "min_unit": 1, "max_unit": MAX_AMOUNT, "step_size": 1}
_COLUMNS = ("capacity", "used", "free", "min_unit", "max_unit", "step_size", "_ruled")


class ResourceColumns:
    """Capacity, use and unit rules of one resource class, a row a provider.

    A provider without the class has capacity 0: an amount is at least 1, so nothing fits there either way.
    ``free`` is kept beside what it follows from because every decision reads it, and as floats because weighers
    compute with it (amounts are far below 2**53, where floats stop being exact).
    """

    __slots__ = ("_ruled", "capacity", "free", "max_unit", "min_unit", "rules", "step_size", "used")

    def __init__(self, size: int) -> None:
        self.capacity: IntColumn = np.zeros(size, np.int64)
        self.used: IntColumn = np.zeros(size, np.int64)
        self.free: FloatColumn = np.zeros(size, np.float64)
        self.min_unit: IntColumn = np.ones(size, np.int64)
        self.max_unit: IntColumn = np.full(size, MAX_AMOUNT, np.int64)
        self.step_size: IntColumn = np.ones(size, np.int64)
        self._ruled: Column = np.zeros(size, np.bool_)
        self.rules = 0  # rows whose unit rules refuse an amount that capacity would take; mostly none

    def grow(self, size: int) -> None:
        """Make room for ``size`` rows."""
        self.capacity = grown(self.capacity, size)
        self.used = grown(self.used, size)
        self.free = grown(self.free, size)
        self.min_unit = grown(self.min_unit, size, 1)
        self.max_unit = grown(self.max_unit, size, MAX_AMOUNT)
        self.step_size = grown(self.step_size, size, 1)
        self._ruled = grown(self._ruled, size)

    def set_inventory(self, row: int, inventory: Mapping[str, Any] | None) -> None:
        """Take over a provider's inventory of this class; None: it has none."""
        given = _ABSENT if inventory is None else inventory
        capacity, least, most, step = (
            given["capacity"],
            given["min_unit"],
            given["max_unit"],
            given["step_size"],
        )
        self.capacity[row] = capacity
        self.min_unit[row] = least
        self.max_unit[row] = most
        self.step_size[row] = step
        self.free[row] = capacity - self.used[row]
        ruled = least > 1 or step > 1 or most < capacity
        self.rules += int(ruled) - int(self._ruled[row])
        self._ruled[row] = ruled

    def set_used(self, row: int, amount: int) -> None:
        """Take over the absolute sum of live claims."""
        self.used[row] = amount
        self.free[row] = self.capacity[row] - amount

    def hands_out(self, amount: int) -> Column:
        """Return which rows hand out such an amount, as far as their unit rules go."""
        return (self.min_unit <= amount) & (self.max_unit >= amount) & (amount % self.step_size == 0)

    def adopt(self, rows: Rows, other: "ResourceColumns") -> None:
        """Take over the first rows of ``other`` as the own ``rows``."""
        count = len(rows)
        for name in _COLUMNS:
            getattr(self, name)[rows] = getattr(other, name)[:count]
        self.rules = int(np.count_nonzero(self._ruled))

    def clear(self, rows: Rows) -> None:
        """Let ``rows`` lack the class."""
        self.adopt(rows, ResourceColumns(len(rows)))
