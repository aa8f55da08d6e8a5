# SPDX-License-Identifier: Apache-2.0
"""``gantt client enroll`` and ``revoke``: the broker's user of a front end."""

import argparse

from rpcapi.access import rabbit_users, senders
from rpcapi.cli.argument import Argument
from rpcapi.cli.broker_command import BrokerCommand


class _ClientCommand(BrokerCommand):
    ARGUMENTS = (
        *BrokerCommand.ARGUMENTS,
        Argument("name", help="The client, such as horizon."),
    )


class EnrollClient(_ClientCommand):
    """Create the user of a client at RabbitMQ, and print its password, which is new at each run.

    With --project PROJECT the client acts for this project only, as user client.NAME@PROJECT. Without, it is trusted to
    act for all projects, as user client.NAME.
    """

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        project = self.app.options.project  # not its default, so that no limit is set unseen
        user = rabbit_users.client(parsed_args.name, project)
        self.enroll(parsed_args, user)
        scope = "all projects" if project is None else f"project {project} only"
        self.show_message(f"{parsed_args.name} is enrolled for {scope}: it logs in as {user.name}")


class RevokeClient(_ClientCommand):
    """Delete the user of a client at RabbitMQ, which ends its connections; --project as it was enrolled with."""

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.revoke(parsed_args, senders.client_user(parsed_args.name, self.app.options.project))
