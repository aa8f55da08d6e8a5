# SPDX-License-Identifier: Apache-2.0
"""What the table stores of the providers that the Placement API owns beside their resources: names and times."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from scheduler_svc.core.table.columns import IntColumn, Rows, extend_column

NOT_API = -1  # the time of a row that is an agent's


class ApiColumns:
    """The name of each row that the Placement API owns, and when a client last changed it.

    An agent's provider has neither: its name is its id, and ``changed_ms`` is NOT_API. A provider that an agent left
    behind has its id as name.
    """

    __slots__ = ("_names", "changed_ms")

    def __init__(self, size: int) -> None:
        self._names: dict[int, str] = {}
        self.changed_ms: IntColumn = np.full(size, NOT_API, np.int64)

    def grow(self, size: int) -> None:
        """Extend the columns to ``size`` rows."""
        self.changed_ms = extend_column(self.changed_ms, size, NOT_API)

    def set_row(self, row: int, document: Mapping[str, Any]) -> None:
        """Set name and time of ``row`` from a provider's document."""
        self.changed_ms[row] = document.get("changed_ms", NOT_API)
        if "name" in document:
            self._names[row] = document["name"]
        else:
            self._names.pop(row, None)

    def name(self, row: int, provider: str) -> str:
        """Return the name of ``row``, which is the provider with this id."""
        return self._names.get(row, provider)

    def named(self, name: str) -> list[int]:
        """Return the rows of the API's providers with this name."""
        return [row for row, row_name in self._names.items() if row_name == name]

    def copy_from(self, rows: Rows, other: "ApiColumns") -> None:
        """Copy the first rows of ``other`` to ``rows``."""
        self.clear(rows)
        self.changed_ms[rows] = other.changed_ms[: len(rows)]
        numbers = rows.tolist()
        self._names |= {numbers[row]: name for row, name in other._names.items()}

    def clear(self, rows: Rows) -> None:
        """Remove names and times of ``rows``."""
        for row in rows[self.changed_ms[rows] != NOT_API].tolist():
            self._names.pop(row, None)
        self.changed_ms[rows] = NOT_API
