# SPDX-License-Identifier: Apache-2.0
"""Inventory and usage columns per resource class."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from rpcapi.resources.inventory import MAX_AMOUNT
from scheduler_svc.core.records import CLAIM_COUNTS
from scheduler_svc.core.table.columns import Column, ColumnGroup, FloatColumn, IntColumn, Rows

NO_INVENTORY = 0  # min_unit of providers without an inventory; inventories have at least 1

_ABSENT: Mapping[str, Any] = {
    **{"capacity": 0, "reserved": 0},
    **{"min_unit": NO_INVENTORY, "max_unit": MAX_AMOUNT, "step_size": 1},
}


class ResourceColumns(ColumnGroup):
    """Capacity, usage and unit rules of one resource class, one row per provider.

    ``capacity`` excludes ``reserved``. A provider without the class has capacity 0 and min_unit NO_INVENTORY. ``free``
    and ``unit_share`` (one unit's share of the capacity) are derived values, stored as floats because every decision
    reads them.
    """

    EMPTY: ClassVar = {
        **{name: np.int64(value) for name, value in _ABSENT.items()},
        **{"used": np.int64(0), "free": np.float64(0), "unit_share": np.float64(0), "_has_rules": np.False_},
    }
    __slots__ = (*EMPTY, "rules")

    capacity: IntColumn
    reserved: IntColumn
    used: IntColumn
    free: FloatColumn
    unit_share: FloatColumn
    min_unit: IntColumn
    max_unit: IntColumn
    step_size: IntColumn
    _has_rules: Column

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.rules = 0  # rows whose unit rules may reject an amount within capacity; usually 0

    def set_inventory(self, row: int, inventory: Mapping[str, Any] | None) -> None:
        """Set or remove (None) a provider's inventory of this class."""
        values = _ABSENT if inventory is None else inventory
        for name in _ABSENT:
            getattr(self, name)[row] = values[name]
        capacity = values["capacity"]
        self.free[row] = capacity - self.used[row]
        self.unit_share[row] = 1 / capacity if capacity > 0 else 0.0
        has_rules = values["min_unit"] > 1 or values["step_size"] > 1 or values["max_unit"] < capacity
        self.rules += int(has_rules) - int(self._has_rules[row])
        self._has_rules[row] = has_rules

    def set_used(self, row: int, amount: int) -> None:
        self.used[row] = amount
        self.free[row] = self.capacity[row] - amount

    def has_inventory(self, rows: Rows | Column) -> Column:
        column: Column = self.min_unit[rows] != NO_INVENTORY
        return column

    def allows_amount(self, amount: int) -> Column:
        allowed: Column = (self.min_unit <= amount) & (self.max_unit >= amount) & (amount % self.step_size == 0)
        return allowed

    def copy_from(self, rows: Rows, other: Self) -> None:
        super().copy_from(rows, other)
        self.rules = int(np.count_nonzero(self._has_rules))


class ClaimCounts(ColumnGroup):
    """Numbers of live claims, one row per provider; see CLAIMS and FOREIGN_CLAIMS."""

    EMPTY: ClassVar = dict.fromkeys(sorted(CLAIM_COUNTS), np.int64(0))
    __slots__ = tuple(EMPTY)

    claims: IntColumn
    foreign_claims: IntColumn


class ResourceTable(dict[str, ResourceColumns]):
    """Columns by resource class, and counts of claims, over the same rows. Classes are never dropped."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.counts = ClaimCounts(size)
        self._size = size

    def __missing__(self, resource_class: str) -> ResourceColumns:
        return self.setdefault(resource_class, ResourceColumns(self._size))

    def grow(self, size: int) -> None:
        self._size = size
        for columns in (self.counts, *self.values()):
            columns.grow(size)

    def set_inventories(self, row: int, inventories: Mapping[str, Mapping[str, Any]]) -> None:
        for resource_class in self.keys() | inventories.keys():
            self[resource_class].set_inventory(row, inventories.get(resource_class))

    def set_used(self, row: int, amounts: Mapping[str, int]) -> None:
        """Set a provider's usage. Classes that are not in ``amounts`` are set to 0."""
        for resource_class in self.keys() | amounts.keys() - CLAIM_COUNTS:
            self[resource_class].set_used(row, amounts.get(resource_class, 0))
        for name in CLAIM_COUNTS:
            getattr(self.counts, name)[row] = amounts.get(name, 0)

    def classes(self, row: int) -> set[str]:
        return {resource_class for resource_class, columns in self.items() if columns.capacity[row] > 0}

    def used(self, row: int) -> dict[str, int]:
        amounts = {resource_class: int(columns.used[row]) for resource_class, columns in self.items()}
        amounts |= {name: int(getattr(self.counts, name)[row]) for name in CLAIM_COUNTS}
        return {resource_class: amount for resource_class, amount in amounts.items() if amount}

    def copy_from(self, rows: Rows, other: "ResourceTable") -> None:
        self.counts.copy_from(rows, other.counts)
        for resource_class in self.keys() | other.keys():
            if resource_class in other:
                self[resource_class].copy_from(rows, other[resource_class])
            else:
                self[resource_class].clear(rows)

    def clear(self, rows: Rows) -> None:  # type: ignore[override]  # clears rows, not classes
        for columns in (self.counts, *self.values()):
            columns.clear(rows)
