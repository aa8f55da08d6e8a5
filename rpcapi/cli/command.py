# SPDX-License-Identifier: Apache-2.0
"""Base classes of the commands: session access, and errors as one line."""

import argparse
import functools
import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from cliff import command, lister, show

from rpcapi.cli import error_messages, formatters

if TYPE_CHECKING:
    from rpcapi.cli.session import Session

LOG = logging.getLogger("gantt.shell")


class _SessionCommand:
    """A command that calls the services, of the application ``gantt`` or of ``openstack``."""

    app: Any
    _hooks: Any
    exit_code = 0  # exit code after the output
    auth_required = True  # openstackclient has Keystone authenticate the user before it runs the command

    def _load_hooks(self) -> None:
        """Load no hooks: cliff would search all installed packages for them."""
        self._hooks = []

    def get_epilog(self) -> str:
        """Return no epilog: cliff would read the metadata of all installed packages for it."""
        return ""

    @functools.cached_property
    def session(self) -> "Session":
        """The session of this run."""
        client_manager = getattr(self.app, "client_manager", None)  # of openstackclient, with the client of its plug-in
        connect = self.app.connect if client_manager is None else client_manager.scheduler
        session: Session = connect()
        return session

    def show_message(self, line: str) -> None:
        """Log a line, besides the command's output: ``gantt`` shows it without -q, ``openstack`` with -v."""
        LOG.info(line)

    def run(self, parsed_args: argparse.Namespace) -> int:
        try:
            code = super().run(parsed_args)  # type: ignore[misc]
        except (BrokenPipeError, error_messages.CommandFailed):
            raise
        except Exception as error:  # top level of the program: every error is shown in one line
            if self.app.options.debug:
                raise
            raise error_messages.CommandFailed(error_messages.describe_error(error)) from error
        finally:
            if "session" in vars(self):
                self.session.close()
        return self.exit_code or code


class Command(_SessionCommand, command.Command):
    """A command without output."""


class Lister(_SessionCommand, lister.Lister):
    """A command that prints a table of rows."""

    def _load_formatter_plugins(self) -> Any:
        return formatters.LIST_FORMATTERS

    def produce_output(
        self, parsed_args: argparse.Namespace, column_names: Sequence[str], data: Iterable[Sequence[Any]]
    ) -> int:
        """Print empty values for None in text formats, where cliff prints "None"."""
        if parsed_args.formatter not in formatters.FORMATS_WITH_NULL:
            data = [[formatters.empty_for_none(item) for item in row] for row in data]
        return super().produce_output(parsed_args, column_names, data)


class ShowOne(_SessionCommand, show.ShowOne):
    """A command that prints the fields of one object."""

    def _load_formatter_plugins(self) -> Any:
        return formatters.ONE_FORMATTERS

    def produce_output(self, parsed_args: argparse.Namespace, column_names: Sequence[str], data: Sequence[Any]) -> int:
        """Print empty values for None in text formats, where cliff prints "None"."""
        if parsed_args.formatter not in formatters.FORMATS_WITH_NULL:
            data = [formatters.empty_for_none(item) for item in data]
        return super().produce_output(parsed_args, column_names, data)
