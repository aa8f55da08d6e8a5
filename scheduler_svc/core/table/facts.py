# SPDX-License-Identifier: Apache-2.0
"""Host facts: documents that many hosts share, so that a predicate runs once per different document."""

import json
from collections.abc import Callable, Hashable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from scheduler_svc.core.table.columns import Column, ColumnGroup, FloatColumn, IntColumn, Rows

NO_FACTS = 0  # the code of rows without facts, which have an empty document
MAX_CACHED_FACT_ANSWERS = 1024  # entries in the cache of predicate results

Facts = Mapping[str, Any]


class FactColumn(ColumnGroup):
    """The facts document of each row, stored as a code per row; there are few different documents."""

    __slots__ = ("_answers", "_codes", "_documents", "_free", "_numbers")

    EMPTY: ClassVar = {"_codes": np.int64(NO_FACTS)}

    _codes: IntColumn

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._documents: list[Facts] = [{}]
        self._numbers: dict[str, int] = {_text({}): NO_FACTS}
        self._free: list[int] = []
        self._answers: dict[Hashable, Any] = {}

    def set_row(self, row: int, facts: Facts | None) -> None:
        """Set the facts of ``row``; None removes them."""
        former, code = int(self._codes[row]), self._code(facts or {})
        self._codes[row] = code
        if former not in (code, NO_FACTS) and not (self._codes == former).any():
            self._drop({former})

    def copy_from(self, rows: Rows, other: Self) -> None:
        """Copy the first rows of ``other`` to ``rows``."""
        former = set(self._codes[rows].tolist())
        codes = np.array([self._code(facts) for facts in other._documents], np.int64)
        self._codes[rows] = codes[other._codes[: len(rows)]]
        self._drop(former - set(self._codes.tolist()))

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
            if not self._free:
                self._free.append(len(self._documents))
                self._documents.append({})
            code = self._numbers[text] = self._free.pop()
            self._documents[code] = facts
        return code

    def _drop(self, codes: AbstractSet[int]) -> None:
        """Remove the documents of codes that no row has."""
        for code in codes - {NO_FACTS}:
            del self._numbers[_text(self._documents[code])]
            self._documents[code] = {}
            self._free.append(code)
            self._answers.clear()


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
