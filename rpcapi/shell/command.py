# SPDX-License-Identifier: Apache-2.0
"""What the commands share: the session, and faults as one line."""

import argparse
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from cliff import columns, command, lister, show

from rpcapi.shell import faults

if TYPE_CHECKING:
    from rpcapi.shell.session import Session


class _Asking:
    """A command that asks the services through the application's session."""

    app: Any
    exit_code = 0  # what the command leaves with after it has printed

    @property
    def session(self) -> "Session":
        return self.app.session

    def tell(self, line: str) -> None:
        """Write a line for the person, beside what the command prints; -q leaves it out."""
        self.app.tell(line)

    def run(self, parsed_args: argparse.Namespace) -> int:
        try:
            code = super().run(parsed_args)  # type: ignore[misc]
        except (BrokenPipeError, faults.CommandFailed):
            raise
        except Exception as error:  # the edge of the program: whatever it was, the user is told in a line
            if self.app.options.debug:
                raise
            raise faults.CommandFailed(faults.sentence(error)) from error
        return self.exit_code or code


class Command(_Asking, command.Command):
    """A command that prints nothing of its own."""


class Lister(_Asking, lister.Lister):
    """A command that prints rows."""

    def produce_output(
        self, parsed_args: argparse.Namespace, column_names: Sequence[str], data: Iterable[Sequence[Any]]
    ) -> int:
        """Leave nothing where there is nothing: cliff's CSV would say "None"."""
        if parsed_args.formatter != "table":
            data = [[None if _is_nothing(value) else value for value in row] for row in data]
        return super().produce_output(parsed_args, column_names, data)


def _is_nothing(value: Any) -> bool:
    return isinstance(value, columns.FormattableColumn) and value.machine_readable() is None


class ShowOne(_Asking, show.ShowOne):
    """A command that prints one thing."""
