# SPDX-License-Identifier: Apache-2.0
"""Result rows of a benchmark: a figure, its ratio to the baseline, and the budget of the ratio."""

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Bound = Literal["at most", "at least"]
WIDTH = 60  # width of the figures' column, used if rows have different figures


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One result; the keys of ``figures`` end in the unit. Without a ``budget`` the row is ok."""

    name: str
    ratio: float
    budget: float | None = None
    bound: Bound = "at most"
    figures: Mapping[str, float | int | str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        if self.budget is None:
            return True
        return self.ratio <= self.budget if self.bound == "at most" else self.ratio >= self.budget

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "ratio": self.ratio,
            "budget": self.budget,
            "bound": self.bound,
            "ok": self.ok,
            **self.figures,
        }


def json_text(document: Any, indent: int | None = None) -> str:
    """Format a document as JSON with NumPy values as plain ones. Raises TypeError for other objects."""
    return json.dumps(document, indent=indent, default=_plain)


def _plain(value: Any) -> Any:
    if hasattr(value, "dtype"):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} has no JSON form; use numbers, texts, lists and dictionaries")


def table(rows: Sequence[ResultRow]) -> str:
    """Format rows as a text table, with one column per figure if all rows have the same figures."""
    from prettytable import PrettyTable  # noqa: PLC0415 - not needed for JSON output

    keys = list(rows[0].figures)
    same_keys = all(list(row.figures) == keys for row in rows)
    output = PrettyTable(["question", *(keys if same_keys else ["figures"]), "ratio", "budget", "kept"])
    output.align = "r"
    output.align["question"] = output.align["figures"] = "l"
    for row in rows:
        texts = {key: _short(value) for key, value in row.figures.items()}
        cells = list(texts.values()) if same_keys else [_wrapped(f"{key}={value}" for key, value in texts.items())]
        budget = "-" if row.budget is None else f"{row.bound} {row.budget:g}"
        within_budget = "-" if row.budget is None else "yes" if row.ok else "NO"
        output.add_row([row.name, *cells, _short(row.ratio), budget, within_budget])
    return output.get_string()


def _wrapped(words: Iterable[str]) -> str:
    return textwrap.fill(" ".join(words), WIDTH, break_long_words=False, break_on_hyphens=False)


def _short(value: float | int | str) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)
