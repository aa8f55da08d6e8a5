# SPDX-License-Identifier: Apache-2.0
"""Base classes of commands: session access, and errors as one line."""

import argparse
import functools
import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from cliff import command, lister, show

from rpcapi.admin.error_messages import describe_error
from rpcapi.cli import tables

if TYPE_CHECKING:
    from rpcapi.admin.argument import Argument
    from rpcapi.admin.session import Session

LOG = logging.getLogger("gantt.cli")
NULLS = {"csv": "", "shell": "", "table": "-", "value": ""}  # text for None, by format

# Columns and rows of a list, or fields and values of one object.
CommandOutput = tuple[Sequence[str], Iterable[Any]]


class CommandFailed(Exception):
    """Raised when a command ends with a one-line message and exit code 1."""


class SessionCommand:
    """A command of ``gantt`` or ``openstack`` that calls the services.

    ARGUMENTS includes the arguments of the base classes.
    """

    ARGUMENTS: "ClassVar[Sequence[Argument]]" = ()

    app: Any
    exit_code = 0  # exit code after the output
    auth_required = True  # makes openstackclient authenticate the user before the command runs

    def get_epilog(self) -> str:
        """Return no epilog; cliff would read the metadata of all installed packages for it."""
        return ""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)  # type: ignore[misc]
        for argument in self.ARGUMENTS:
            argument.add_to(parser)
        return parser

    @functools.cached_property
    def session(self) -> "Session":
        """Session of this run."""
        client_manager = getattr(self.app, "client_manager", None)  # openstackclient's, with the plug-in's client
        connect = self.app.connect if client_manager is None else client_manager.scheduler
        session: Session = connect()
        return session

    def show_message(self, line: str) -> None:
        """Log a line beside the output; ``gantt`` shows it unless -q, ``openstack`` with -v."""
        LOG.info(line)

    def run(self, parsed_args: argparse.Namespace) -> int:
        try:
            code = super().run(parsed_args)  # type: ignore[misc]
        except (BrokenPipeError, CommandFailed):
            raise
        except Exception as error:  # top level of the program: every error becomes one line
            if self.app.options.debug:
                raise
            raise CommandFailed(describe_error(error)) from error
        finally:
            if "session" in vars(self):
                self.session.close()
        return self.exit_code or code


class Command(SessionCommand, command.Command):
    """A command without output."""


class _OutputCommand(SessionCommand):
    """A command that prints in the format of -f."""

    def _load_formatter_plugins(self) -> Any:
        plugins = super()._load_formatter_plugins()  # type: ignore[misc]
        plugins["table"].obj = tables.TableFormatter()
        return plugins


class Lister(_OutputCommand, lister.Lister):
    """A command that prints a table of rows."""

    def produce_output(
        self, parsed_args: argparse.Namespace, column_names: Sequence[str], data: Iterable[Sequence[Any]]
    ) -> int:
        rows = (fill_nulls(row, parsed_args.formatter) for row in data)
        return super().produce_output(parsed_args, column_names, rows)


class ShowOne(_OutputCommand, show.ShowOne):
    """A command that prints the fields of one object."""

    def produce_output(self, parsed_args: argparse.Namespace, column_names: Sequence[str], data: Sequence[Any]) -> int:
        return super().produce_output(parsed_args, column_names, fill_nulls(data, parsed_args.formatter))


def fill_nulls(cells: Sequence[Any], formatter: str) -> Sequence[Any]:
    """Replace None by text in formats without null, where cliff would print "None"."""
    null = NULLS.get(formatter)
    return [null if cell is None else cell for cell in cells]
