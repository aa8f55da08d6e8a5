# SPDX-License-Identifier: Apache-2.0
"""What the commands share: the session, and faults as one line."""

import argparse
from typing import TYPE_CHECKING, Any

from cliff import command, lister, show

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


class ShowOne(_Asking, show.ShowOne):
    """A command that prints one thing."""
