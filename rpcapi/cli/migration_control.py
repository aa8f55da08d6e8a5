# SPDX-License-Identifier: Apache-2.0
"""``gantt migration abort`` and ``force-complete``."""

import argparse
from typing import ClassVar

from rpcapi.cli.argument import Argument
from rpcapi.cli.command import Command


class _ControlMigrations(Command):
    """Base of the commands: RESULT is what happens, METHOD that of the conductor."""

    RESULT: ClassVar[str]
    METHOD: ClassVar[str]

    ARGUMENTS = (Argument("migrations", nargs="+", metavar="UUID", help="The live migrations; all, or none."),)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.session.call(getattr(self.session.conductor, self.METHOD), parsed_args.migrations)
        self.show_message(f"{len(parsed_args.migrations)} to be {self.RESULT}")


class AbortMigrations(_ControlMigrations):
    """Abort live migrations: their servers run on at their hosts."""

    RESULT, METHOD = "aborted", "abort_migrations"


class ForceCompleteMigrations(_ControlMigrations):
    """Complete live migrations whose servers write faster than they are copied: the servers stand still meanwhile."""

    RESULT, METHOD = "completed", "force_complete_migrations"
