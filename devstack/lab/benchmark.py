# SPDX-License-Identifier: Apache-2.0
"""Base class of the benchmarks: options, and output as table, JSON, plot and saved run."""

import abc
import argparse
import os
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from cliff import command

from devstack.lab import rows, saved_runs
from devstack.lab.saved_runs import Machine, SavedRun
from devstack.peer_environments import NOVA, PLACEMENT
from rpcapi.admin.argument import Argument, parse_number
from rpcapi.cli.command import CommandFailed

NO_MATPLOTLIB = "--plot needs matplotlib, which is not installed: `pip install matplotlib`."

ValueT = TypeVar("ValueT")
OUTPUT_OPTIONS = frozenset({"json", "plot", "save"})  # options that do not change the figures
MAX_HOSTS = 200_000  # twice the design limit: more would exhaust the memory of a development machine


def empty_figure(path: Path) -> Any:
    """Return an empty figure. Raises CommandFailed without matplotlib or if ``path`` cannot be written."""
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


def save_figure(figure: Any, path: Path) -> None:
    """Write the figure. Only print a failure, so that the measurement is not lost."""
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as why:
        print(f"The plot {path} cannot be written: {why}", file=sys.stderr)


LEAST = 1e-6  # smallest value of a number that must be above 0
positive = parse_number(int, 1)
host_count = parse_number(int, 1, MAX_HOSTS)
share = parse_number(float, LEAST, 1)


def list_of(parse: Callable[[str], ValueT]) -> Callable[[str], list[ValueT]]:
    """Return a parser of comma-separated values that drops duplicates."""

    def comma_separated(text: str) -> list[ValueT]:
        return list(dict.fromkeys(parse(part.strip()) for part in text.split(",")))

    return comma_separated


def names_of(allowed: Collection[str], description: str) -> Callable[[str], list[str]]:
    """Return a parser of comma-separated names; ``description`` says in errors what a name is."""

    def read(text: str) -> str:
        if text not in allowed:
            raise argparse.ArgumentTypeError(f"{text!r} is not {description}; use {' or '.join(allowed)}")
        return text

    return list_of(read)


def option(
    name: str, text: str, parse: Callable[[str], Any] = positive, default: Any = None, metavar: str = "N"
) -> Argument:
    ending = "" if default is None else " (%(default)s)"
    return Argument(name, type=parse, default=default, metavar=metavar, help=f"{text}{ending}.")


def flag(name: str, text: str) -> Argument:
    return Argument(name, action="store_true", help=text)


INSTALL = flag("--install", f"First install {NOVA} and {PLACEMENT} from PyPI, about 400 MB.")


def stores_option(stores: Collection[str]) -> Argument:
    return option("--through", "The stores", names_of(stores, "a store"), ",".join(stores), "NAME,...")


class Benchmark(command.Command):
    """Sub-command of lab.sh that measures against a baseline."""

    ARGUMENTS: ClassVar[Sequence[Argument]] = ()
    BUDGET_EXIT: ClassVar[int] = 0  # exit code if a row misses its budget; 0 because the rows already show it

    app: Any
    can_plot: ClassVar[bool] = False

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--json", action="store_true", help="Print one JSON object instead of a table.")
        parser.add_argument(
            "--save",
            type=Path,
            metavar="FOLDER",
            help="Also save the run there, for lab.sh history: one JSON file with commit and machine.",
        )
        if self.can_plot:
            parser.add_argument("--plot", type=Path, metavar="FILE.png", help="Also plot the figures into this file.")
        for argument in self.ARGUMENTS:
            argument.add_to(parser)
        return parser

    @abc.abstractmethod
    def measure(self, args: argparse.Namespace) -> Iterable[rows.ResultRow]:
        """Run the benchmark, and yield each result row as soon as it is measured."""

    def draw(self, figure: Any, result_rows: Sequence[rows.ResultRow]) -> None:
        """Plot ``result_rows`` into a matplotlib figure. Called only if ``can_plot``."""

    def say(self, text: str) -> None:
        print(text, file=self.app.stderr, flush=True)

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        picture: Path | None = getattr(parsed_args, "plot", None)
        folder: Path | None = parsed_args.save
        # Check this first: a failure after the measurement would lose it.
        figure = None if picture is None else empty_figure(picture)
        if folder is not None:
            saved_runs.require_folder(folder)
        started = saved_runs.now()
        result_rows = []
        for row in self.measure(parsed_args):
            result_rows.append(row)
            if self.app.stderr.isatty():
                self.say(f"measured: {row.name}")
        if picture is not None:
            self.draw(figure, result_rows)
            save_figure(figure, picture)
        described = saved_runs.describe_machine()
        if folder is not None:
            options = {name: value for name, value in vars(parsed_args).items() if name not in OUTPUT_OPTIONS}
            self._save(saved_runs.make_run(str(self.cmd_name), options, started, described, result_rows), folder)
        self.app.stdout.write(_text(result_rows, described, parsed_args.json) + "\n")
        return 0 if all(row.ok for row in result_rows) else self.BUDGET_EXIT

    def _save(self, run: SavedRun, folder: Path) -> None:
        try:
            run.save(folder)
        except OSError as why:
            self.app.stderr.write(f"The run cannot be saved in {folder}: {why}\n")


def _text(result_rows: Sequence[rows.ResultRow], described: Machine, as_json: bool) -> str:
    if as_json:
        return rows.json_text({"machine": described, "rows": [row.as_dict() for row in result_rows]}, indent=2)
    return f"{rows.table(result_rows)}\n{saved_runs.machine_sentence(described)}"
