# SPDX-License-Identifier: Apache-2.0
"""Output formats of the commands.

They are listed here: cliff would search the entry points of all installed packages for them, on every start.
"""

import argparse
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TextIO

from cliff.columns import FormattableColumn
from cliff.formatters import base, commaseparated, json_format, shell, value, yaml_format

from rpcapi.cli import tables
from rpcapi.cli.columns import machine_value


class TableFormatter(base.ListFormatter, base.SingleFormatter):
    """Tables that fit the terminal, or ``--max-width``."""

    def add_argument_group(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument_group("table formatter").add_argument
        add(
            "--max-width",
            type=int,
            default=int(os.environ.get("CLIFF_MAX_TERM_WIDTH", "0")),
            metavar="N",
            help="Maximum width of a table in characters. Default: $CLIFF_MAX_TERM_WIDTH, else 0: the terminal's width "
            "at a terminal, otherwise unlimited.",
        )
        add(
            "--fit-width",
            action="store_true",
            default=bool(int(os.environ.get("CLIFF_FIT_WIDTH", "0"))),
            help="Fit a table to $COLUMNS, else 80 characters, also outside a terminal. Default: $CLIFF_FIT_WIDTH.",
        )
        add("--print-empty", action="store_true", help="Print the header of a table without rows.")

    def emit_list(
        self,
        column_names: Sequence[str],
        data: Iterable[Sequence[Any]],
        stdout: TextIO,
        parsed_args: argparse.Namespace,
    ) -> None:
        rows = [list(row) for row in data]
        if not rows and not parsed_args.print_empty:
            stdout.write("\n")
            return
        columns = [
            tables.Column(name, [_cell(row[index]) for row in rows], bool(rows) and _is_number(rows[0][index]))
            for index, name in enumerate(column_names)
        ]
        width = _width(parsed_args, stdout)
        shown = columns if width is None or parsed_args.columns else tables.fit_columns(columns, width)
        stdout.write(tables.render(shown, width) + "\n")
        omitted = [column.name for column in columns[len(shown) :]]
        if omitted:
            stdout.write(f"Omitted to fit the terminal: {', '.join(omitted)}; choose columns with -c, or --max-width\n")

    def emit_one(
        self, column_names: Sequence[str], data: Sequence[Any], stdout: TextIO, parsed_args: argparse.Namespace
    ) -> None:
        columns = [tables.Column("Field", column_names), tables.Column("Value", [_cell(item) for item in data])]
        stdout.write(tables.render(columns, _width(parsed_args, stdout)) + "\n")


def _width(args: argparse.Namespace, stdout: TextIO) -> int | None:
    if args.max_width > 0:
        return int(args.max_width)
    try:
        return os.get_terminal_size(stdout.fileno()).columns or None
    except (OSError, ValueError):  # not a terminal
        return shutil.get_terminal_size().columns if args.fit_width else None


def _is_number(item: Any) -> bool:
    return type(item) in (int, float)


def _cell(item: Any) -> str:
    if item is None:
        return "-"
    text = item.human_readable() if isinstance(item, FormattableColumn) else str(item)
    return text.replace("\r\n", "\n").replace("\r", " ")


class _Entry(NamedTuple):
    obj: Any


class FormatterSet:
    """Formatters by name, with the part of stevedore's ExtensionManager that cliff uses."""

    def __init__(self, formatters: Mapping[str, Any]) -> None:
        self._entries = {name: _Entry(formatter) for name, formatter in formatters.items()}

    def names(self) -> list[str]:
        """Return the names for ``--format``."""
        return list(self._entries)

    def __iter__(self) -> Iterator[_Entry]:
        return iter(self._entries.values())

    def __getitem__(self, name: str) -> _Entry:
        return self._entries[name]


_BOTH = {
    "json": json_format.JSONFormatter(),
    "table": TableFormatter(),
    "value": value.ValueFormatter(),
    "yaml": yaml_format.YAMLFormatter(),
}
LIST_FORMATTERS = FormatterSet({"csv": commaseparated.CSVLister(), **_BOTH})
ONE_FORMATTERS = FormatterSet({**_BOTH, "shell": shell.ShellFormatter()})

# Formats with null; the other ones print an empty text.
FORMATS_WITH_NULL = ("json", "table", "yaml")


def empty_for_none(item: Any) -> Any:
    """Return ``item``, or an empty text for None."""
    return "" if machine_value(item) is None else item
