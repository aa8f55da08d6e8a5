# SPDX-License-Identifier: Apache-2.0
"""Base of the commands that create and delete users of RabbitMQ."""

import argparse
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from rpcapi.access.rabbit_management import BrokerAdministration
from rpcapi.access.rabbit_users import RabbitUser
from rpcapi.cli.argument import Argument
from rpcapi.cli.command import Command
from rpcapi.cli.error_messages import CommandFailed

BROKER_FILE = "GANTT_BROKER_FILE"


class BrokerCommand(Command):
    """A command with option --broker-file."""

    ARGUMENTS: ClassVar[Sequence[Argument]] = (
        Argument(
            "--broker-file",
            metavar="PATH",
            help="File with one line, the URL of RabbitMQ's management API with an administrator's password, like "
            f"https://NAME:PASSWORD@HOST:15671/VHOST. Default: ${BROKER_FILE}. No service needs it.",
        ),
    )

    def administration(self, parsed_args: argparse.Namespace) -> BrokerAdministration:
        """Return the broker's management; raises CommandFailed."""
        path = parsed_args.broker_file or os.environ.get(BROKER_FILE)
        if not path:
            raise CommandFailed(f"Which broker? Use --broker-file PATH, or set {BROKER_FILE}")
        try:
            return BrokerAdministration(Path(path).read_text(encoding="utf-8").strip())
        except (OSError, ValueError) as why:
            raise CommandFailed(f"The broker's file {path} cannot be used: {why}") from why

    def enroll(self, parsed_args: argparse.Namespace, user: RabbitUser) -> None:
        """Create the user, or give it another password, and print the password."""
        password = secrets.token_urlsafe(24)
        self.administration(parsed_args).enroll(user, password)
        self.app.stdout.write(f"{password}\n")

    def revoke(self, parsed_args: argparse.Namespace, user: str) -> None:
        """Delete the user, which ends its connections."""
        existed = self.administration(parsed_args).revoke(user)
        self.show_message(f"User {user} is deleted" if existed else f"There is no user {user}")
