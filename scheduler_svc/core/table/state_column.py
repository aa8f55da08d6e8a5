# SPDX-License-Identifier: Apache-2.0
"""Column for one host state key, one row per host."""

from typing import Any, ClassVar, Self

import numpy as np

from scheduler_svc.core.table.columns import Column, ColumnGroup, FloatColumn, IntColumn, Rows
from scheduler_svc.core.table.traits import TraitColumns

NO_TEXT = -1


class StateColumn(ColumnGroup):
    """Number, string, list of strings, or nothing per row: the values of one document key.

    For values of other types, ``numbers`` has NaN and ``codes`` has NO_TEXT. True is 1, False is 0. A list sets one bit
    per string.
    """

    __slots__ = ("_lists", "codes", "numbers", "texts")

    EMPTY: ClassVar = {"numbers": np.float64(np.nan), "codes": np.int64(NO_TEXT)}

    numbers: FloatColumn
    codes: IntColumn

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.texts: dict[str, int] = {}
        self._lists: TraitColumns | None = None

    def grow(self, size: int) -> None:
        super().grow(size)
        if self._lists is not None:
            self._lists.grow(size)

    def set_row(self, row: int, value: Any) -> None:
        """Set a JSON value. Objects and list elements other than strings are ignored."""
        self.numbers[row] = value if isinstance(value, (int, float)) else np.nan
        text = isinstance(value, str)
        self.codes[row] = self.texts.setdefault(value, len(self.texts)) if text else NO_TEXT
        if isinstance(value, list) or self._lists is not None:
            self._list_columns().set_row(row, _texts(value))

    def contains(self, text: str, size: int) -> Column:
        return np.zeros(size, np.bool_) if self._lists is None else self._lists.has_all((text,), size)

    def copy_from(self, rows: Rows, other: Self) -> None:
        count = len(rows)
        codes = [self.texts.setdefault(text, len(self.texts)) for text in other.texts]
        self.numbers[rows] = other.numbers[:count]
        self.codes[rows] = np.array([*codes, NO_TEXT], np.int64)[other.codes[:count]]  # index -1 is NO_TEXT
        if other._lists is not None:
            self._list_columns().copy_from(rows, other._lists)
        elif self._lists is not None:
            self._lists.clear(rows)

    def _list_columns(self) -> TraitColumns:
        if self._lists is None:
            self._lists = TraitColumns(len(self.codes))
        return self._lists


def _texts(value: Any) -> list[str]:
    return [element for element in value if isinstance(element, str)] if isinstance(value, list) else []
