# SPDX-License-Identifier: Apache-2.0
"""Rows that hosts and child providers have in common."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from scheduler_svc.core.records import Amounts
from scheduler_svc.core.table.columns import FIRST_ROWS, Column, ColumnGroup, IntColumn, Rows, extend_column
from scheduler_svc.core.table.resources import ResourceTable
from scheduler_svc.core.table.traits import TraitColumns

NOT_API = -1  # ``changed_ms`` of an agent's provider


class ApiColumns:
    """Name (default: id) and time of last change of API-owned rows; agents' rows have NOT_API."""

    __slots__ = ("_names", "changed_ms")

    def __init__(self, size: int) -> None:
        self._names: dict[int, str] = {}
        self.changed_ms: IntColumn = np.full(size, NOT_API, np.int64)

    def grow(self, size: int) -> None:
        self.changed_ms = extend_column(self.changed_ms, size, NOT_API)

    def set_row(self, row: int, document: Mapping[str, Any]) -> None:
        self.changed_ms[row] = document.get("changed_ms", NOT_API)
        if "name" in document:
            self._names[row] = document["name"]
        else:
            self._names.pop(row, None)

    def name(self, row: int, provider: str) -> str:
        return self._names.get(row, provider)

    def named(self, name: str) -> list[int]:
        return [row for row, row_name in self._names.items() if row_name == name]

    def copy_from(self, rows: Rows, other: "ApiColumns") -> None:
        self.clear(rows)
        self.changed_ms[rows] = other.changed_ms[: len(rows)]
        numbers = rows.tolist()
        self._names |= {numbers[row]: name for row, name in other._names.items()}

    def clear(self, rows: Rows) -> None:
        for row in rows[self.changed_ms[rows] != NOT_API].tolist():
            self._names.pop(row, None)
        self.changed_ms[rows] = NOT_API


class ProviderRows(ColumnGroup):
    """Providers: names, traits, and inventories and usage with log positions. Deleted ones are not ``present``."""

    EMPTY: ClassVar = {
        "present": np.False_,
        "_provider_positions": np.int64(0),
        "_used_positions": np.int64(0),
    }

    present: Column
    _provider_positions: IntColumn
    _used_positions: IntColumn

    def __init__(self) -> None:
        super().__init__(FIRST_ROWS)
        self.names: list[str] = []
        self.api = ApiColumns(FIRST_ROWS)
        self.traits = TraitColumns(FIRST_ROWS)
        self.resources = ResourceTable(FIRST_ROWS)
        # Column groups that grow together with this object's arrays.
        self._parts: tuple[Any, ...] = (self.api, self.traits, self.resources)

    def grow(self, size: int) -> None:
        super().grow(size)
        for columns in self._parts:
            columns.grow(size)

    def set_row_used(self, row: int, amounts: Amounts, position: int) -> None:
        if position >= self._used_positions[row]:
            self._used_positions[row] = position
            self.resources.set_used(row, amounts)

    def _append(self, name: str) -> int:
        row = len(self.names)
        if row == len(self.present):
            self.grow(2 * row)
        self.names.append(name)
        return row

    def _features(self, row: int) -> tuple[int, set[str]]:
        """Return a provider's traits, as bits, and its resource classes."""
        return self.traits.bits(row), self.resources.classes(row)

    def _set_document(self, row: int, document: Mapping[str, Any], position: int) -> None:
        self._provider_positions[row] = position
        self.resources.set_inventories(row, document.get("inventories", {}))
        self.api.set_row(row, document)
        self.traits.set_row(row, document.get("traits", ()))
