# SPDX-License-Identifier: Apache-2.0
"""Base class of the benchmarks: output as table, JSON and plot, and the progress bar."""

import abc
import argparse
import os
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from cliff import command

from devstack.lab import machine, rows
from rpcapi.cli import progress
from rpcapi.cli.error_messages import CommandFailed

ValueT = TypeVar("ValueT")
MAX_HOSTS = 200_000  # twice the design limit: more would exhaust the memory of a development machine
NO_MATPLOTLIB = "--plot needs matplotlib, which is not installed: `pip install 'gantt[lab]'`."


def positive(text: str) -> int:
    """Parse a count of at least 1; for argparse."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return number


def host_count(text: str) -> int:
    """Parse a number of hosts to generate; for argparse."""
    number = positive(text)
    if number > MAX_HOSTS:
        raise argparse.ArgumentTypeError(f"{number} hosts are more than the maximum of {MAX_HOSTS}")
    return number


def up_to(maximum: float, description: str) -> Callable[[str], float]:
    """Return a parser of a number above 0 and up to ``maximum``; ``description`` names it in errors. For argparse."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = 0.0
        if not 0 < number <= maximum:
            raise argparse.ArgumentTypeError(f"{text!r} is not {description} above 0 and up to {maximum:g}")
        return number

    return read


share = up_to(1, "a share")


def list_of(parse: Callable[[str], ValueT]) -> Callable[[str], list[ValueT]]:
    """Return a parser of values separated by commas, in their order and without repetitions. For argparse."""

    def read(text: str) -> list[ValueT]:
        return list(dict.fromkeys(parse(part.strip()) for part in text.split(",")))

    return read


def names_of(allowed: Collection[str], description: str) -> Callable[[str], list[str]]:
    """Return a parser of names separated by commas; ``description`` names one in errors. For argparse."""

    def read(text: str) -> str:
        if text not in allowed:
            raise argparse.ArgumentTypeError(f"{text!r} is not {description}; use {' or '.join(allowed)}")
        return text

    return list_of(read)


class Benchmark(command.Command):
    """Base class of a benchmark. It exits with 0 even where a budget is exceeded: the rows show that."""

    app: Any
    pictures: ClassVar[bool] = False  # whether --plot is available

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--json", action="store_true", help="Print one JSON object instead of a table.")
        progress.add_option(parser)
        if self.pictures:
            parser.add_argument("--plot", type=Path, metavar="FILE.png", help="Also plot the figures into this file.")
        return parser

    @abc.abstractmethod
    def measure(self, args: argparse.Namespace) -> Sequence[rows.ResultRow]:
        """Run the benchmark and return its result rows."""

    def draw(self, figure: Any, result_rows: Sequence[rows.ResultRow]) -> None:
        """Plot ``result_rows`` into a matplotlib figure; for benchmarks with ``pictures``."""

    def bar(self, total: int, what: str, args: argparse.Namespace) -> Any:
        """Return a progress bar, shown on a terminal only."""
        args.formatter = "json" if args.json else "table"
        return progress.progress_bar(total, what, self.app.stderr, args)

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        picture: Path | None = getattr(parsed_args, "plot", None)
        figure = None if picture is None else _figure(picture)  # first: a failure later would lose the measurement
        result_rows = self.measure(parsed_args)
        if picture is not None:
            self.draw(figure, result_rows)
            _save(figure, picture)
        self.app.stdout.write(_text(result_rows, parsed_args.json) + "\n")
        return 0


def _text(result_rows: Sequence[rows.ResultRow], as_json: bool) -> str:
    host_machine = machine.describe()
    if as_json:
        return rows.json_text({"machine": host_machine, "rows": [row.as_dict() for row in result_rows]}, indent=2)
    return f"{rows.table(result_rows)}\n{machine.sentence(host_machine)}"


def _figure(path: Path) -> Any:
    """Return an empty figure; raises CommandFailed if it cannot be drawn or ``path`` cannot be written."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - most runs plot nothing
    except ImportError as error:
        raise CommandFailed(NO_MATPLOTLIB) from error
    figure = Figure(figsize=(8, 5), layout="constrained")
    if path.suffix[1:].lower() not in figure.canvas.get_supported_filetypes():
        raise CommandFailed(f"The plot {path} cannot be written: use a file name that ends in .png, .svg or .pdf")
    if not os.access(path if path.exists() else path.parent, os.W_OK) or path.is_dir():
        raise CommandFailed(f"The plot {path} cannot be written: its folder is missing or not writable")
    return figure


def _save(figure: Any, path: Path) -> None:
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as why:
        # The results are still printed.
        print(f"The plot {path} cannot be written: {why}", file=sys.stderr)
