# SPDX-License-Identifier: Apache-2.0
"""``gantt host enroll`` and ``revoke``: the broker's user of a host's agent."""

import argparse

from rpcapi import errors
from rpcapi.access import rabbit_users, senders
from rpcapi.cli import host_changes
from rpcapi.cli.argument import Argument
from rpcapi.cli.broker_command import BrokerCommand
from rpcapi.cli.error_messages import CommandFailed
from rpcapi.cli.service_host import parse_service_host

CONSEQUENCES = "its agent is disconnected for good; its claims end; its guests are lost to gantt"
_HOST = Argument("host", help="The service host.")


class EnrollHost(BrokerCommand):
    """Create the user of a host's agent at RabbitMQ, and print its password, which is new at each run.

    The user is gantt-compute.HOST. An agent that runs with an earlier password stays connected until it reconnects.
    """

    ARGUMENTS = (*BrokerCommand.ARGUMENTS, _HOST)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        host = parse_service_host(parsed_args.host, "enrolled")
        user = rabbit_users.agent(host)
        self.enroll(parsed_args, user)
        self.show_message(f"{host} is enrolled: its agent logs in as {user.name}")


class RevokeHost(BrokerCommand):
    """Delete the user of a host's agent at RabbitMQ, which ends its connections, and fence the host.

    The password is worth nothing afterwards. What runs on the host still runs: see the help of host fence. Another
    machine may be enrolled under the name, as after host replace.
    """

    ARGUMENTS = (
        *BrokerCommand.ARGUMENTS,
        _HOST,
        Argument("--yes", action="store_true", help=f"Confirm the consequences: {CONSEQUENCES}."),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        host = parse_service_host(parsed_args.host, "revoked")
        if not parsed_args.yes:
            raise CommandFailed(f"Revoking {host} means: {CONSEQUENCES}. Use --yes to confirm")
        self.revoke(parsed_args, senders.agent_user(host))
        try:
            # Forced: its last heartbeats may be recent.
            ended = host_changes.fence(self.session, host, force=True, replace=True)
        except errors.UnknownHost:
            self.show_message(f"{host} never reported: there is nothing to fence")
            return
        self.show_message(f"{host} is fenced: {ended} claims ended")
