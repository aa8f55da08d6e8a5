# SPDX-License-Identifier: Apache-2.0
"""``gantt host`` and ``gantt client``, ``enroll`` and ``revoke``: RabbitMQ users of agents and clients."""

import argparse
import os
import secrets
from pathlib import Path

from rpcapi import errors
from rpcapi.access import broker_users, senders
from rpcapi.access.rabbit_management import BrokerAdministration
from rpcapi.admin import host_control
from rpcapi.admin.argument import Argument
from rpcapi.cli.command import Command, CommandFailed
from rpcapi.cli.host_control import HOST, EndHostCommand, parse_service_host

BROKER_FILE = "GANTT_BROKER_FILE"
_BROKER = Argument(
    "--broker-file",
    metavar="PATH",
    help="File with the URL of RabbitMQ's management API and an administrator's password: "
    f"https://NAME:PASSWORD@HOST:15671/VHOST. Default: ${BROKER_FILE}. No service needs it.",
)
_CLIENT = Argument("name", help="Client name, such as horizon.")


class _BrokerCommand(Command):
    """Command that administers the broker's users."""

    def administration(self, parsed_args: argparse.Namespace) -> BrokerAdministration:
        path = parsed_args.broker_file or os.environ.get(BROKER_FILE)
        if not path:
            raise CommandFailed(f"No broker is given: use --broker-file PATH, or set {BROKER_FILE}")
        try:
            return BrokerAdministration(Path(path).read_text(encoding="utf-8").strip())
        except (OSError, ValueError) as why:
            raise CommandFailed(f"Cannot use broker file {path}: {why}") from why

    def enroll(self, parsed_args: argparse.Namespace, user: broker_users.RabbitUser) -> None:
        password = secrets.token_urlsafe(24)
        self.administration(parsed_args).enroll(user, password)
        self.app.stdout.write(f"{password}\n")

    def revoke(self, parsed_args: argparse.Namespace, user: str) -> None:
        existed = self.administration(parsed_args).revoke(user)
        self.show_message(f"User {user} is deleted" if existed else f"There is no user {user}")


class EnrollHost(_BrokerCommand):
    """Create the RabbitMQ user of a host's agent, and print its new password.

    The user is gantt-compute.HOST. Each run sets a new password, which a connected agent needs when it reconnects.
    """

    ARGUMENTS = (_BROKER, HOST)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        host = parse_service_host(parsed_args.host, "enrolled")
        user = broker_users.agent(host)
        self.enroll(parsed_args, user)
        self.show_message(f"{host} is enrolled: its agent logs in as {user.name}")


class RevokeHost(EndHostCommand, _BrokerCommand):
    """Delete the RabbitMQ user of a host's agent, close its connections, and fence the host.

    Guests on the host keep running: see the help of host fence. Another machine can then be enrolled under the name.
    """

    CONSEQUENCES = "its agent is disconnected for good; its claims end; its guests are lost to gantt"
    ARGUMENTS = (_BROKER, HOST)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        host = parse_service_host(parsed_args.host, "revoked")
        self.check_confirmed(parsed_args, f"Revoking {host}")
        self.revoke(parsed_args, senders.agent_user(host))
        try:
            # Forced, because the last heartbeat may be recent.
            ended = host_control.fence(self.session, host, force=True, replace=True)
        except errors.UnknownHost:
            self.show_message(f"{host} never reported: there is nothing to fence")
            return
        self.show_message(f"{host} is fenced: {ended} claims ended")


class EnrollClient(_BrokerCommand):
    """Create the RabbitMQ user of a client, and print its password. Each run sets a new one.

    Without --project, user client.NAME acts for all projects; with it, user client.NAME@PROJECT acts for this one.
    """

    ARGUMENTS = (_BROKER, _CLIENT)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        project = self.app.options.project  # without --project, the client acts for all projects
        user = broker_users.client(parsed_args.name, project)
        self.enroll(parsed_args, user)
        scope = "all projects" if project is None else f"project {project} only"
        self.show_message(f"{parsed_args.name} is enrolled for {scope}: it logs in as {user.name}")


class RevokeClient(_BrokerCommand):
    """Delete the RabbitMQ user of a client, and close its connections; give the --project of its enrollment."""

    ARGUMENTS = (_BROKER, _CLIENT)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.revoke(parsed_args, senders.client_user(parsed_args.name, self.app.options.project))
