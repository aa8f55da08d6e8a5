# SPDX-License-Identifier: Apache-2.0
"""Output of rows as they arrive, until the command is interrupted."""

import argparse
import csv
import json
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TextIO

from rpcapi.admin.argument import Argument, parse_number
from rpcapi.cli.command import CommandFailed, fill_nulls, human_text, machine_value

DEFAULT_INTERVAL = 1.0  # seconds

PrintRow = Callable[[Sequence[Any]], None]


INTERVAL_OPTION = Argument(
    "--interval",
    type=parse_number(float, 0.1, 3600),
    default=DEFAULT_INTERVAL,
    metavar="S",
    help=f"Seconds between polls while following ({DEFAULT_INTERVAL:g}).",
)


def pause(seconds: float) -> None:
    time.sleep(seconds)


def print_rows(
    column_names: Sequence[str], rows: Iterable[Sequence[Any]], args: argparse.Namespace, stream: TextIO
) -> None:
    """Print each row at once until interrupted; raises CommandFailed for an unknown column or format."""
    unknown = [name for name in args.columns if name not in column_names]
    if unknown:
        raise CommandFailed(f"Unknown column {', '.join(unknown)}; known: {', '.join(column_names)}")
    indexes = [index for index, name in enumerate(column_names) if not args.columns or name in args.columns]
    print_row = _row_printer(args.formatter, [column_names[index] for index in indexes], stream)
    try:
        for row in rows:
            print_row(fill_nulls([row[index] for index in indexes], args.formatter))
            stream.flush()
    except KeyboardInterrupt:
        return


def _row_printer(formatter: str, names: Sequence[str], stream: TextIO) -> PrintRow:
    if formatter == "json":
        return lambda row: print(json.dumps(dict(zip(names, map(machine_value, row), strict=True))), file=stream)
    if formatter == "value":
        return lambda row: print(*map(_text, row), file=stream)
    if formatter == "csv":
        writer = csv.writer(stream, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow(names)
        return lambda row: writer.writerow(map(machine_value, row))
    if formatter == "table":
        widths = [len(name) for name in names]

        def print_aligned(row: Sequence[Any]) -> None:
            for index, cell in enumerate(map(_text, row)):
                widths[index] = max(widths[index], len(cell))
            cells = (cell.ljust(width) for cell, width in zip(map(_text, row), widths, strict=True))
            print("  ".join(cells).rstrip(), file=stream)

        print_aligned(names)
        return print_aligned
    raise CommandFailed(f"Rows cannot be followed with -f {formatter}; use table, json, csv or value")


def _text(cell: Any) -> str:
    return ", ".join(human_text(cell).splitlines())
