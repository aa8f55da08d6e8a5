# SPDX-License-Identifier: Apache-2.0
"""Base class of the benchmarks: output as table, JSON, plot and saved run, and the progress bar."""

import abc
import argparse
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from cliff import command

from devstack.lab import machine, pictures, rows, saved_runs
from devstack.lab.machine import Machine
from devstack.lab.saved_runs import SavedRun
from rpcapi.cli import progress

ValueT = TypeVar("ValueT")
OUTPUT_OPTIONS = frozenset({"json", "plot", "save", "progress", "formatter"})  # that change no figures
MAX_HOSTS = 200_000  # twice the design limit: more would exhaust the memory of a development machine


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


def add_stores_option(parser: argparse.ArgumentParser, stores: Collection[str]) -> None:
    """Add ``--through``, which names some of ``stores``; by default all."""
    parser.add_argument(
        "--through",
        type=names_of(stores, "a store"),
        default=",".join(stores),
        metavar="NAME,...",
        help="The stores (%(default)s).",
    )


class Benchmark(command.Command):
    """Base class of a benchmark. It exits with 0 even where a budget is exceeded: the rows show that."""

    app: Any
    can_plot: ClassVar[bool] = False  # whether --plot is available

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--json", action="store_true", help="Print one JSON object instead of a table.")
        progress.OPTION.add_to(parser)
        parser.add_argument(
            "--save",
            type=Path,
            metavar="FOLDER",
            help="Also save the run there, for lab.sh history: one JSON file with commit and machine.",
        )
        if self.can_plot:
            parser.add_argument("--plot", type=Path, metavar="FILE.png", help="Also plot the figures into this file.")
        return parser

    @abc.abstractmethod
    def measure(self, args: argparse.Namespace) -> Sequence[rows.ResultRow]:
        """Run the benchmark and return its result rows."""

    def draw(self, figure: Any, result_rows: Sequence[rows.ResultRow]) -> None:
        """Plot ``result_rows`` into a matplotlib figure; for benchmarks with ``can_plot``."""

    def bar(self, total: int, what: str, args: argparse.Namespace) -> Any:
        """Return a progress bar, shown on a terminal only."""
        args.formatter = "json" if args.json else "table"
        return progress.progress_bar(total, what, self.app.stderr, args)

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        picture: Path | None = getattr(parsed_args, "plot", None)
        folder: Path | None = parsed_args.save
        # First: a failure later would lose the measurement.
        figure = None if picture is None else pictures.empty_figure(picture)
        if folder is not None:
            saved_runs.require_folder(folder)
        started = saved_runs.now()
        result_rows = self.measure(parsed_args)
        if picture is not None:
            self.draw(figure, result_rows)
            pictures.save(figure, picture)
        described = machine.describe()
        if folder is not None:
            options = {name: value for name, value in vars(parsed_args).items() if name not in OUTPUT_OPTIONS}
            self._save(saved_runs.make(str(self.cmd_name), options, started, described, result_rows), folder)
        self.app.stdout.write(_text(result_rows, described, parsed_args.json) + "\n")
        return 0

    def _save(self, run: SavedRun, folder: Path) -> None:
        try:
            run.save(folder)
        except OSError as why:  # the results are still printed
            self.app.stderr.write(f"The run cannot be saved in {folder}: {why}\n")


def _text(result_rows: Sequence[rows.ResultRow], described: Machine, as_json: bool) -> str:
    if as_json:
        return rows.json_text({"machine": described, "rows": [row.as_dict() for row in result_rows]}, indent=2)
    return f"{rows.table(result_rows)}\n{machine.sentence(described)}"
