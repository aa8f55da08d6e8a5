# SPDX-License-Identifier: Apache-2.0
"""Names of API-owned providers, and times of their changes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from scheduler_svc.core.table.columns import IntColumn, Rows, extend_column

NOT_API = -1  # ``changed_ms`` of an agent's provider


class ApiColumns:
    """Name and time of last change of API-owned rows.

    The name defaults to the provider's id. Agents' rows have the time NOT_API.
    """

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
