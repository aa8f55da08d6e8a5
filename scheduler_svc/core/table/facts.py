# SPDX-License-Identifier: Apache-2.0
"""Host facts: documents that many hosts share, so that a predicate runs once per different document."""

import json
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from scheduler_svc.core.table.columns import Column, FloatColumn, IntColumn, Rows, extend_column

NO_FACTS = 0  # the code of rows without facts, which have an empty document
MAX_CACHED_FACT_ANSWERS = 1024  # entries in the cache of predicate results

Facts = Mapping[str, Any]


class FactColumn:
    """The facts document of each row, stored as a code per row; there are few different documents."""

    __slots__ = ("_answers", "_codes", "_documents", "_free", "_numbers", "_row_counts")

    def __init__(self, size: int) -> None:
        self._codes: IntColumn = np.full(size, NO_FACTS, np.int64)
        self._documents: list[Facts] = [{}]
        self._numbers: dict[str, int] = {_text({}): NO_FACTS}
        self._row_counts = [0]  # number of rows per document
        self._free: list[int] = []
        self._answers: dict[Hashable, Any] = {}

    def grow(self, size: int) -> None:
        """Extend the column to ``size`` rows."""
        self._codes = extend_column(self._codes, size, NO_FACTS)

    def set_row(self, row: int, facts: Facts | None) -> None:
        """Set the facts of ``row``; None removes them."""
        self._unassign(row)
        if facts:
            self._assign(row, self._code(facts))

    def copy_from(self, rows: Rows, other: "FactColumn") -> None:
        """Copy the first rows of ``other`` to ``rows``."""
        codes: dict[int, int] = {}
        for row, other_code in zip(rows.tolist(), other._codes.tolist(), strict=False):
            self._unassign(row)
            if other_code != NO_FACTS:
                if other_code not in codes:
                    codes[other_code] = self._code(other._documents[other_code])
                self._assign(row, codes[other_code])

    def clear(self, rows: Rows) -> None:
        """Remove the facts of ``rows``."""
        for row in rows.tolist():
            self.set_row(row, None)

    @property
    def rows(self) -> list[int]:
        """The rows with facts."""
        return np.flatnonzero(self._codes != NO_FACTS).tolist()

    def of(self, row: int) -> Facts:
        """Return the facts of ``row``."""
        return self._documents[int(self._codes[row])]

    def map_rows(self, rows: Column, function: Callable[[Facts], Any]) -> npt.NDArray[Any]:
        """Return ``function`` of the facts of these rows, a mask, and of no facts for all others.

        It is called for no document of the others.
        """
        codes, indexes = np.unique(np.where(rows, self._codes[: len(rows)], NO_FACTS), return_inverse=True)
        return np.array([function(self._documents[code]) for code in codes.tolist()])[indexes]

    def where(self, size: int, predicate: Callable[[Facts], bool], key: Hashable | None = None) -> Column:
        """Return a mask of the first ``size`` rows: True where ``predicate`` is true for the row's facts.

        With a ``key``, unique to the predicate, the result is cached until a document is added or removed.
        """
        return self._map_documents(lambda facts: bool(predicate(facts)), key)[self._codes[:size]]

    def numbers(self, size: int, path: str) -> FloatColumn:
        """Return the number at a dotted path of the facts of the first ``size`` rows; NaN where it is not a number."""
        return self._map_documents(lambda facts: _number(facts, path), ("number at", path))[self._codes[:size]]

    def _map_documents(self, function: Callable[[Facts], Any], key: Hashable | None) -> npt.NDArray[Any]:
        """Return ``function`` of each document, cached under ``key``."""
        answers: npt.NDArray[Any] | None = self._answers.get(key) if key is not None else None
        if answers is None:
            answers = np.array([function(facts) for facts in self._documents])
            if key is not None:
                if len(self._answers) >= MAX_CACHED_FACT_ANSWERS:
                    self._answers.clear()
                self._answers[key] = answers
        return answers

    def _code(self, facts: Facts) -> int:
        text = _text(facts)
        code = self._numbers.get(text)
        if code is None:
            self._answers.clear()
            code = self._free.pop() if self._free else self._new()
            self._documents[code] = facts
            self._numbers[text] = code
        return code

    def _new(self) -> int:
        self._documents.append({})
        self._row_counts.append(0)
        return len(self._documents) - 1

    def _assign(self, row: int, code: int) -> None:
        self._codes[row] = code
        self._row_counts[code] += 1

    def _unassign(self, row: int) -> None:
        code = int(self._codes[row])
        if code == NO_FACTS:
            return
        self._row_counts[code] -= 1
        if not self._row_counts[code]:
            del self._numbers[_text(self._documents[code])]
            self._documents[code] = {}
            self._free.append(code)
            self._answers.clear()
        self._codes[row] = NO_FACTS


def _text(facts: Facts) -> str:
    return json.dumps(facts, sort_keys=True, separators=(",", ":"))


def _number(facts: Facts, path: str) -> float:
    value: Any = facts
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return float(value) if isinstance(value, (int, float)) else float("nan")


class FactView:
    """The host facts within a view: columns have one element per row of the view.

    Only the rows in the mask ``only`` have facts, None: all rows.
    """

    __slots__ = ("_column", "_only", "_size")

    def __init__(self, column: FactColumn, size: int, only: Column | None = None) -> None:
        self._column = column
        self._size = size
        self._only = only

    def where(self, predicate: Callable[[Facts], bool], key: Hashable | None = None) -> Column:
        """Return a mask: True where ``predicate`` is true for the row's facts ({} if it has none).

        The predicate is called once per different document. With a ``key`` the result is cached until a document is
        added or removed. The key must be unique to the predicate.
        """
        if self._only is not None:
            mask: Column = self._column.map_rows(self._only, lambda facts: bool(predicate(facts)))
            return mask
        return self._column.where(self._size, predicate, key)

    def numbers(self, path: str) -> FloatColumn:
        """Return the number at a dotted path of each row's facts; NaN if it is not a number, true is 1 and false 0."""
        if self._only is not None:
            values: FloatColumn = self._column.map_rows(self._only, lambda facts: _number(facts, path))
            return values
        return self._column.numbers(self._size, path)

    def of(self, row: int) -> Facts:
        """Return the facts of ``row``."""
        return self._column.of(row) if self._only is None or self._only[row] else {}
