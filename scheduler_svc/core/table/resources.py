# SPDX-License-Identifier: Apache-2.0
"""The inventory and usage columns of one resource class."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rpcapi.resources.inventory import MAX_AMOUNT
from scheduler_svc.core.table.columns import Column, FloatColumn, IntColumn, Rows, extend_column

NO_INVENTORY = 0  # as min_unit, which is at least 1 in an inventory

_ABSENT: Mapping[str, Any] = {
    **{"capacity": 0, "reserved": 0},
    **{"min_unit": NO_INVENTORY, "max_unit": MAX_AMOUNT, "step_size": 1},
}
_COLUMNS = ("capacity", "reserved", "used", "free", "unit_share", "min_unit", "max_unit", "step_size", "_has_rules")


class ResourceColumns:
    """Capacity, usage and unit rules of one resource class, one row per provider.

    ``capacity`` has the reserved amount subtracted already; ``reserved`` is only for those who show it.

    A provider without the class has capacity 0: an amount is at least 1, so nothing fits there. Its min_unit is
    NO_INVENTORY, which distinguishes it from one whose inventory is reserved as a whole.
    ``free`` is stored although it is derived, because every decision reads it. It is a float column because weighers
    compute with it (amounts are far below 2**53, up to which floats are exact). ``unit_share`` is the share of the
    capacity that one unit is, stored for the same reason; 0 without capacity.
    """

    __slots__ = (*_COLUMNS, "rules")

    def __init__(self, size: int) -> None:
        self.capacity: IntColumn = np.zeros(size, np.int64)
        self.reserved: IntColumn = np.zeros(size, np.int64)
        self.used: IntColumn = np.zeros(size, np.int64)
        self.free: FloatColumn = np.zeros(size, np.float64)
        self.unit_share: FloatColumn = np.zeros(size, np.float64)
        self.min_unit: IntColumn = np.zeros(size, np.int64)
        self.max_unit: IntColumn = np.full(size, MAX_AMOUNT, np.int64)
        self.step_size: IntColumn = np.ones(size, np.int64)
        self._has_rules: Column = np.zeros(size, np.bool_)
        self.rules = 0  # rows whose unit rules can reject an amount that the capacity allows; usually 0

    def grow(self, size: int) -> None:
        """Extend the columns to ``size`` rows."""
        self.capacity = extend_column(self.capacity, size)
        self.reserved = extend_column(self.reserved, size)
        self.used = extend_column(self.used, size)
        self.free = extend_column(self.free, size)
        self.unit_share = extend_column(self.unit_share, size)
        self.min_unit = extend_column(self.min_unit, size)
        self.max_unit = extend_column(self.max_unit, size, MAX_AMOUNT)
        self.step_size = extend_column(self.step_size, size, 1)
        self._has_rules = extend_column(self._has_rules, size)

    def set_inventory(self, row: int, inventory: Mapping[str, Any] | None) -> None:
        """Set a provider's inventory of this class; None removes it."""
        values = _ABSENT if inventory is None else inventory
        capacity, least, most, step = (
            values["capacity"],
            values["min_unit"],
            values["max_unit"],
            values["step_size"],
        )
        self.capacity[row] = capacity
        self.reserved[row] = values["reserved"]
        self.min_unit[row] = least
        self.max_unit[row] = most
        self.step_size[row] = step
        self.free[row] = capacity - self.used[row]
        self.unit_share[row] = 1 / capacity if capacity > 0 else 0.0
        has_rules = least > 1 or step > 1 or most < capacity
        self.rules += int(has_rules) - int(self._has_rules[row])
        self._has_rules[row] = has_rules

    def set_used(self, row: int, amount: int) -> None:
        """Set the usage of ``row`` to the absolute sum of live claims."""
        self.used[row] = amount
        self.free[row] = self.capacity[row] - amount

    def has_inventory(self, rows: Rows | Column) -> Column:
        """Return a mask of ``rows``: True for providers with an inventory of this class, whatever its capacity."""
        column: Column = self.min_unit[rows] != NO_INVENTORY
        return column

    def allows_amount(self, amount: int) -> Column:
        """Return a mask of the rows whose unit rules (min_unit, max_unit, step_size) allow ``amount``."""
        allowed: Column = (self.min_unit <= amount) & (self.max_unit >= amount) & (amount % self.step_size == 0)
        return allowed

    def copy_from(self, rows: Rows, other: "ResourceColumns") -> None:
        """Copy the first rows of ``other`` to ``rows``."""
        count = len(rows)
        for name in _COLUMNS:
            getattr(self, name)[rows] = getattr(other, name)[:count]
        self.rules = int(np.count_nonzero(self._has_rules))

    def clear(self, rows: Rows) -> None:
        """Remove the inventory and usage of ``rows``."""
        self.copy_from(rows, ResourceColumns(len(rows)))
