# SPDX-License-Identifier: Apache-2.0
"""Facts of hosts: documents that many of them share, so that a question is put to each different one once."""

import json
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from scheduler_svc.table.columns import Column, FloatColumn, IntColumn, Rows, grown

NONE = 0  # the code of a row without facts: an empty document
MOST_ANSWERS = 1024  # answers that are kept

Facts = Mapping[str, Any]


class FactColumn:
    """Which row has which document; a cloud has few different ones."""

    __slots__ = ("_answers", "_codes", "_documents", "_free", "_held", "_numbers")

    def __init__(self, size: int) -> None:
        self._codes: IntColumn = np.full(size, NONE, np.int64)
        self._documents: list[Facts] = [{}]
        self._numbers: dict[str, int] = {_text({}): NONE}
        self._held = [0]  # rows of each document
        self._free: list[int] = []
        self._answers: dict[Hashable, Any] = {}

    def grow(self, size: int) -> None:
        """Make room for ``size`` rows."""
        self._codes = grown(self._codes, size, NONE)

    def give(self, row: int, facts: Facts | None) -> None:
        """Give ``row`` its facts, None: it has none."""
        self._drop(row)
        if facts:
            self._hold(row, self._code(facts))

    def adopt(self, rows: Rows, other: "FactColumn") -> None:
        """Take over the first rows of ``other`` as the own ``rows``."""
        mine: dict[int, int] = {}
        for row, theirs in zip(rows.tolist(), other._codes.tolist(), strict=False):
            self._drop(row)
            if theirs != NONE:
                if theirs not in mine:
                    mine[theirs] = self._code(other._documents[theirs])
                self._hold(row, mine[theirs])

    def clear(self, rows: Rows) -> None:
        """Let ``rows`` have no facts."""
        for row in rows.tolist():
            self.give(row, None)

    def of(self, row: int) -> Facts:
        """Return the facts of ``row``."""
        return self._documents[self._codes[row]]

    def where(self, size: int, predicate: Callable[[Facts], bool], key: Hashable | None = None) -> Column:
        """Return of which of the first ``size`` rows ``predicate`` is true.

        With a ``key``, which must tell it from all others, what it says is kept until documents come or go.
        """
        answers = self._answers.get(key) if key is not None else None
        if answers is None:
            answers = np.fromiter((bool(predicate(each)) for each in self._documents), np.bool_, len(self._documents))
            self._keep(key, answers)
        return answers[self._codes[:size]]

    def numbers(self, size: int, path: str) -> FloatColumn:
        """Return what is at a dotted path of each of the first ``size`` rows; NaN where it is no number."""
        key = ("number at", path)
        figures = self._answers.get(key)
        if figures is None:
            figures = np.array([_number(each, path) for each in self._documents])
            self._keep(key, figures)
        return figures[self._codes[:size]]

    def _keep(self, key: Hashable | None, answers: Any) -> None:
        if key is not None:
            if len(self._answers) >= MOST_ANSWERS:
                self._answers.clear()
            self._answers[key] = answers

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
        self._held.append(0)
        return len(self._documents) - 1

    def _hold(self, row: int, code: int) -> None:
        self._codes[row] = code
        self._held[code] += 1

    def _drop(self, row: int) -> None:
        code = int(self._codes[row])
        if code == NONE:
            return
        self._held[code] -= 1
        if not self._held[code]:
            del self._numbers[_text(self._documents[code])]
            self._documents[code] = {}
            self._free.append(code)
            self._answers.clear()
        self._codes[row] = NONE


def _text(facts: Facts) -> str:
    return json.dumps(facts, sort_keys=True, separators=(",", ":"))


def _number(facts: Facts, path: str) -> float:
    value: Any = facts
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return float(value) if isinstance(value, (int, float)) else float("nan")


class FactsSeen:
    """The facts as a decision sees them: columns have an element a row of its view."""

    __slots__ = ("_column", "_size")

    def __init__(self, column: FactColumn, size: int) -> None:
        self._column = column
        self._size = size

    def where(self, predicate: Callable[[Facts], bool], key: Hashable | None = None) -> Column:
        """Return of which rows ``predicate`` is true; it is put to each different document once, {} for no facts.

        With a ``key``, which must tell it from all others, what it says is kept until documents come or go.
        """
        return self._column.where(self._size, predicate, key)

    def numbers(self, path: str) -> FloatColumn:
        """Return what is at a dotted path of each row's facts; NaN where it is no number, true is 1 and false 0."""
        return self._column.numbers(self._size, path)

    def of(self, row: int) -> Facts:
        """Return the facts of ``row``."""
        return self._column.of(row)
