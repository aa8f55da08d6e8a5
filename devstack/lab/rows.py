# SPDX-License-Identifier: Apache-2.0
"""What a measurement says: one row a figure, its ratio to the floor, and whether that keeps its budget."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Bound = Literal["at most", "at least"]
WIDTH = 60  # of the column that holds figures which differ from row to row


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. ``figures`` are raw numbers whose keys end in their units.

    ``budget`` None: nothing is promised, and the row is fine as it is.
    """

    name: str
    ratio: float
    budget: float | None = None
    bound: Bound = "at most"
    figures: Mapping[str, float | int | str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the ratio keeps its budget."""
        if self.budget is None:
            return True
        return self.ratio <= self.budget if self.bound == "at most" else self.ratio >= self.budget

    def as_dict(self) -> dict[str, Any]:
        """Return the row as programs read it; what the key ``bound`` says is which way the budget binds."""
        return {
            "name": self.name,
            "ratio": self.ratio,
            "budget": self.budget,
            "bound": self.bound,
            "ok": self.ok,
            **self.figures,
        }


def table(rows: Sequence[Row]) -> str:
    """Return the rows, at least one, as people read them: a column a figure where all rows have the same."""
    from prettytable import PrettyTable  # noqa: PLC0415 - programs that read JSON need none

    keys = list(rows[0].figures)
    alike = all(list(row.figures) == keys for row in rows)
    shown = PrettyTable(["question", *(keys if alike else ["figures"]), "ratio", "budget", "kept"])
    shown.align = "r"
    shown.align["question"] = shown.align["figures"] = "l"
    for row in rows:
        told = {key: _short(value) for key, value in row.figures.items()}
        cells = list(told.values()) if alike else [_wrapped(f"{key}={value}" for key, value in told.items())]
        promise = "-" if row.budget is None else f"{row.bound} {row.budget:g}"
        kept = "-" if row.budget is None else "yes" if row.ok else "NO"
        shown.add_row([row.name, *cells, _short(row.ratio), promise, kept])
    return shown.get_string()


def _wrapped(words: Iterable[str]) -> str:
    return textwrap.fill(" ".join(words), WIDTH, break_long_words=False, break_on_hyphens=False)


def _short(value: float | int | str) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)
