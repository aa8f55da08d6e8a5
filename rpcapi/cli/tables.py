# SPDX-License-Identifier: Apache-2.0
"""Tables of text that fit a width: wide columns are wrapped, and if that is not enough the last ones are omitted."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

MIN_WIDTH = 8  # a column is not wrapped to less
FRAME = 3  # characters of a column's padding and border; the table has one more


@dataclass(frozen=True)
class Column:
    """One column: its name and the text of each row."""

    name: str
    cells: Sequence[str]
    align_right: bool = False

    def natural_width(self) -> int:
        """Return the width without wrapping."""
        return max(len(line) for cell in (self.name, *self.cells) for line in cell.split("\n"))

    def min_width(self) -> int:
        """Return the smallest acceptable width; a name is wrapped only at underscores."""
        return min(self.natural_width(), max(MIN_WIDTH, *(len(part) for part in _name_parts(self.name))))


def fit_columns(columns: Sequence[Column], width: int) -> list[Column]:
    """Return the first columns, at least one, that fit into ``width`` at their smallest widths."""
    fitting: list[Column] = []
    used = 1
    for column in columns:
        used += column.min_width() + FRAME
        if fitting and used > width:
            break
        fitting.append(column)
    return fitting


def render(columns: Sequence[Column], width: int | None = None) -> str:
    """Return the table, wrapped to ``width`` as far as the smallest widths allow; None: unlimited."""
    widths = _fit_widths(columns, width)
    rule = "+" + "+".join("-" * (column_width + 2) for column_width in widths) + "+"
    header = [_wrap_name(column.name, column_width) for column, column_width in zip(columns, widths, strict=True)]
    rows = [
        [_wrap(cell, column_width) for cell, column_width in zip(row, widths, strict=True)]
        for row in zip(*(column.cells for column in columns), strict=True)
    ]
    return "\n".join(
        [
            rule,
            *_lines(header, widths, columns),
            rule,
            *(line for row in rows for line in _lines(row, widths, columns)),
            rule,
        ]
    )


def _fit_widths(columns: Sequence[Column], width: int | None) -> list[int]:
    """Limit the widest columns to one common width, the largest with which the table fits."""
    widths = [column.natural_width() for column in columns]
    if width is None:
        return widths
    smallest = [column.min_width() for column in columns]
    available = width - 1 - FRAME * len(columns)
    limit = max(widths, default=0)
    while limit > MIN_WIDTH and sum(_limit(widths, smallest, limit)) > available:
        limit -= 1
    return _limit(widths, smallest, limit)


def _limit(widths: Sequence[int], smallest: Sequence[int], limit: int) -> list[int]:
    return [max(least, min(natural, limit)) for natural, least in zip(widths, smallest, strict=True)]


def _lines(row: Sequence[Sequence[str]], widths: Sequence[int], columns: Sequence[Column]) -> list[str]:
    height = max((len(cell) for cell in row), default=1)
    return [
        "|"
        + "|".join(
            f" {_pad(cell[number] if number < len(cell) else '', width, column.align_right)} "
            for cell, width, column in zip(row, widths, columns, strict=True)
        )
        + "|"
        for number in range(height)
    ]


def _pad(text: str, width: int, align_right: bool) -> str:
    return text.rjust(width) if align_right else text.ljust(width)


def _wrap(cell: str, width: int) -> list[str]:
    return [part for line in cell.split("\n") for part in (_wrap_line(line, width) if len(line) > width else [line])]


def _wrap_line(line: str, width: int) -> list[str]:
    return textwrap.wrap(line, width, break_on_hyphens=False, drop_whitespace=True) or [""]


def _name_parts(name: str) -> list[str]:
    *parts, last = name.split("_")
    return [*(f"{part}_" for part in parts), last]


def _wrap_name(name: str, width: int) -> list[str]:
    lines = [""]
    for part in _name_parts(name):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return lines
