# SPDX-License-Identifier: Apache-2.0
"""What the lab's sub-commands share: the table, the JSON, the picture and the progress bar."""

import abc
import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from cliff import command

from devstack.lab import machine, rows
from rpcapi.shell import progress
from rpcapi.shell.faults import CommandFailed

MOST_HOSTS = 200_000  # twice what is planned for: more would fill the memory of the machines that this is meant for
NO_MATPLOTLIB = "A picture needs matplotlib, which is not installed: `pip install 'gantt[lab]'`."


def positive(text: str) -> int:
    """Return a count that an option gives; for argparse."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return number


def host_count(text: str) -> int:
    """Return how many hosts to make up; for argparse."""
    number = positive(text)
    if number > MOST_HOSTS:
        raise argparse.ArgumentTypeError(f"{number} hosts are more than the {MOST_HOSTS} that the lab makes up")
    return number


def up_to(most: float, what: str) -> Callable[[str], float]:
    """Return the reader of a number above 0 and up to ``most``, which is ``what``; for argparse."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = 0.0
        if not 0 < number <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not {what} above 0 and up to {most:g}")
        return number

    return read


share = up_to(1, "a share")


class Question(command.Command):
    """One question to the lab. It leaves with 0 also where a budget is broken: the rows say so."""

    app: Any
    pictures: ClassVar[bool] = False  # whether --plot is offered

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--json", action="store_true", help="Print one JSON object instead of a table.")
        progress.add_option(parser)
        if self.pictures:
            parser.add_argument("--plot", type=Path, metavar="FILE.png", help="Also draw the figures into this file.")
        return parser

    @abc.abstractmethod
    def measure(self, args: argparse.Namespace) -> Sequence[rows.Row]:
        """Return the answer's rows."""

    def draw(self, figure: Any, found: Sequence[rows.Row]) -> None:
        """Draw ``found`` into a matplotlib figure; for questions with pictures."""

    def bar(self, total: int, what: str, args: argparse.Namespace) -> Any:
        """Return a progress bar, shown to somebody who watches."""
        args.formatter = "json" if args.json else "table"
        return progress.bar(total, what, self.app.stderr, args)

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        picture: Path | None = getattr(parsed_args, "plot", None)
        figure = None if picture is None else _figure(picture)  # before the work, which would be lost where this fails
        found = self.measure(parsed_args)
        if picture is not None:
            self.draw(figure, found)
            _save(figure, picture)
        self.app.stdout.write(_text(found, parsed_args.json) + "\n")
        return 0


def _text(found: Sequence[rows.Row], as_json: bool) -> str:
    where = machine.describe()
    if as_json:
        return json.dumps({"machine": where, "rows": [row.as_dict() for row in found]}, indent=2)
    return f"{rows.table(found)}\n{machine.sentence(where)}"


def _figure(path: Path) -> Any:
    """Return an empty figure; raises CommandFailed where it could not be drawn, or not be written to ``path``."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - most runs draw nothing
    except ImportError as error:
        raise CommandFailed(NO_MATPLOTLIB) from error
    figure = Figure(figsize=(8, 5), layout="constrained")
    if path.suffix[1:].lower() not in figure.canvas.get_supported_filetypes():
        raise CommandFailed(f"The picture {path} cannot be written: name a file that ends in .png, .svg or .pdf")
    if not os.access(path if path.exists() else path.parent, os.W_OK) or path.is_dir():
        raise CommandFailed(f"The picture {path} cannot be written: there is no file or folder that lets it be")
    return figure


def _save(figure: Any, path: Path) -> None:
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as why:
        # The figures themselves are still worth printing.
        print(f"The picture {path} cannot be written: {why}", file=sys.stderr)
