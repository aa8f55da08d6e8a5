# SPDX-License-Identifier: Apache-2.0
"""What the lab's sub-commands share: the table, the JSON, the picture and the progress bar."""

import abc
import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from cliff import command

from devstack.lab import machine, rows
from rpcapi.shell import progress
from rpcapi.shell.faults import CommandFailed

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
        figure = None if picture is None else _figure()  # before the work, which would be lost where this fails
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


def _figure() -> Any:
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - most runs draw nothing
    except ImportError as error:
        raise CommandFailed(NO_MATPLOTLIB) from error
    return Figure(figsize=(8, 5), layout="constrained")


def _save(figure: Any, path: Path) -> None:
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as why:
        # The figures themselves are still worth printing.
        print(f"The picture {path} cannot be written: {why}", file=sys.stderr)
