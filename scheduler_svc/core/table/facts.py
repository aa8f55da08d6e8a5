# SPDX-License-Identifier: Apache-2.0
"""Host facts, stored once per distinct document, so that a predicate runs once for many hosts."""

import json
from collections.abc import Callable, Hashable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from scheduler_svc.core.table.columns import Column, ColumnGroup, FloatColumn, IntColumn, Rows

NO_FACTS = 0  # code of rows without facts
MAX_CACHED_FACT_ANSWERS = 1024  # cached predicate results

Facts = Mapping[str, Any]


class FactColumn(ColumnGroup):
    """Column with the code of each row's facts document."""

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
        former, code = int(self._codes[row]), self._code(facts or {})
        self._codes[row] = code
        if former not in (code, NO_FACTS) and not (self._codes == former).any():
            self._drop({former})

    def copy_from(self, rows: Rows, other: Self) -> None:
        former = set(self._codes[rows].tolist())
        codes = np.array([self._code(facts) for facts in other._documents], np.int64)
        self._codes[rows] = codes[other._codes[: len(rows)]]
        self._drop(former - set(self._codes.tolist()))

    @property
    def rows(self) -> list[int]:
        return np.flatnonzero(self._codes != NO_FACTS).tolist()

    def of(self, row: int) -> Facts:
        return self._documents[int(self._codes[row])]

    def map_rows(
        self, size: int, only: Column | None, function: Callable[[Facts], Any], key: Hashable | None = None
    ) -> npt.NDArray[Any]:
        """Apply ``function`` to each row's facts. Rows outside the mask ``only`` (None: all rows) have no facts."""
        if only is None:
            return self._map_documents(function, key)[self._codes[:size]]
        codes, indexes = np.unique(np.where(only, self._codes[:size], NO_FACTS), return_inverse=True)
        return np.array([function(self._documents[code]) for code in codes.tolist()])[indexes]

    def _map_documents(self, function: Callable[[Facts], Any], key: Hashable | None) -> npt.NDArray[Any]:
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
    """Host facts as a view reads them. Rows outside the mask ``only`` (None: all rows) have no facts."""

    __slots__ = ("_column", "_only", "_size")

    def __init__(self, column: FactColumn, size: int, only: Column | None = None) -> None:
        self._column = column
        self._size = size
        self._only = only

    def where(self, predicate: Callable[[Facts], bool], key: Hashable | None = None) -> Column:
        """Return a mask of the rows whose facts ({} if none) satisfy ``predicate``.

        The predicate runs once per distinct document. If ``key`` identifies the predicate, the result is cached until a
        document is added or removed.
        """
        return self._column.map_rows(self._size, self._only, lambda facts: bool(predicate(facts)), key)

    def numbers(self, path: str) -> FloatColumn:
        """Return the number at a dotted path per row. True is 1, False is 0, other values are NaN."""
        key = ("number at", path)
        return self._column.map_rows(self._size, self._only, lambda facts: _number(facts, path), key)

    def of(self, row: int) -> Facts:
        return self._column.of(row) if self._only is None or self._only[row] else {}
