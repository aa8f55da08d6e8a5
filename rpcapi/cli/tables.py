# SPDX-License-Identifier: Apache-2.0
"""Tables that fit the terminal: wide columns are wrapped, then the last ones omitted."""

import argparse
import os
import shutil
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from cliff.formatters import table
from prettytable import PrettyTable

MIN_WIDTH = 8  # columns are not wrapped below this width
FRAME = 3  # characters of padding and border per column; the table has one more


class TableFormatter(table.TableFormatter):
    """cliff's table, no wider than the terminal or ``--max-width``."""

    def emit_list(
        self,
        column_names: Sequence[str],
        data: Iterable[Sequence[Any]],
        stdout: TextIO,
        parsed_args: argparse.Namespace,
    ) -> None:
        output = PrettyTable(column_names, print_empty=parsed_args.print_empty)
        self.add_rows(output, column_names, data)
        omitted = fit(output, _width(parsed_args, stdout), may_omit=not parsed_args.columns)
        stdout.write(f"{output.get_string()}\n")
        if omitted:
            stdout.write(
                f"Columns omitted to fit the terminal: {', '.join(omitted)}; choose with -c, or set --max-width\n"
            )

    def emit_one(
        self, column_names: Sequence[str], data: Sequence[Any], stdout: TextIO, parsed_args: argparse.Namespace
    ) -> None:
        output = PrettyTable(["Field", "Value"])
        self.add_rows(output, output.field_names, zip(column_names, data, strict=True))
        output.align = "l"
        fit(output, _width(parsed_args, stdout), may_omit=False)
        stdout.write(f"{output.get_string()}\n")


def fit(output: PrettyTable, width: int | None, *, may_omit: bool) -> Sequence[str]:
    """Wrap wide columns to fit ``width``, then (if ``may_omit``) omit the last ones; return the omitted names."""
    if width is None or not output.rows:
        return []
    names = output.field_names
    cell_widths = (max(map(_longest_line, cells)) for cells in zip(*output.rows, strict=True))
    columns = list(zip(map(len, names), cell_widths, strict=True))
    shown = len(columns)
    while may_omit and shown > 1 and _total(columns[:shown], MIN_WIDTH) > width:
        shown -= 1
    limit = max(cell_width for _, cell_width in columns)
    while limit > MIN_WIDTH and _total(columns[:shown], limit) > width:
        limit -= 1
    output.max_width = limit
    output.fields = names[:shown]
    return names[shown:]


def _longest_line(cell: Any) -> int:
    return max(map(len, str(cell).split("\n")))


def _total(columns: Iterable[tuple[int, int]], limit: int) -> int:
    return 1 + sum(FRAME + max(name_width, min(cell_width, limit)) for name_width, cell_width in columns)


def _width(args: argparse.Namespace, stdout: TextIO) -> int | None:
    if args.max_width > 0:
        return int(args.max_width)
    try:
        return os.get_terminal_size(stdout.fileno()).columns or None
    except (OSError, ValueError):
        return shutil.get_terminal_size().columns if args.fit_width else None
