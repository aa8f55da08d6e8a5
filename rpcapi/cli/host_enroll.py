# SPDX-License-Identifier: Apache-2.0
"""``gantt host enroll`` and ``revoke``: the broker's user of a host's agent."""

import argparse
import os
import secrets
import uuid
from pathlib import Path

from rpcapi import errors
from rpcapi.access import rabbit_users, senders
from rpcapi.access.rabbit_management import BrokerAdministration
from rpcapi.cli.command import Command
from rpcapi.cli.error_messages import CommandFailed
from rpcapi.cli.service_host import parse_service_host

BROKER_FILE = "GANTT_BROKER_FILE"
CONSEQUENCES = "its agent is disconnected for good; its claims end; its guests are lost to gantt"


class _BrokerCommand(Command):
    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("host", help="The service host.")
        parser.add_argument(
            "--broker-file",
            metavar="PATH",
            help="File with one line, the URL of RabbitMQ's management API with an administrator's password, like "
            f"https://NAME:PASSWORD@HOST:15671/VHOST. Default: ${BROKER_FILE}. No service needs it.",
        )
        return parser

    def administration(self, parsed_args: argparse.Namespace) -> BrokerAdministration:
        """Return the broker's management; raises CommandFailed."""
        path = parsed_args.broker_file or os.environ.get(BROKER_FILE)
        if not path:
            raise CommandFailed(f"Which broker? Use --broker-file PATH, or set {BROKER_FILE}")
        try:
            return BrokerAdministration(Path(path).read_text(encoding="utf-8").strip())
        except (OSError, ValueError) as why:
            raise CommandFailed(f"The broker's file {path} cannot be used: {why}") from why


class EnrollHost(_BrokerCommand):
    """Create the user of a host's agent at RabbitMQ, and print its password, which is new at each run.

    The user is gantt-compute.HOST. An agent that runs with an earlier password stays connected until it reconnects.
    """

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        host = parse_service_host(parsed_args.host, "enrolled")
        administration = self.administration(parsed_args)
        user, password = rabbit_users.agent(host), secrets.token_urlsafe(24)
        administration.enroll(user, password)
        self.app.stdout.write(f"{password}\n")
        self.show_message(f"{host} is enrolled: its agent logs in as {user.name}")


class RevokeHost(_BrokerCommand):
    """Delete the user of a host's agent at RabbitMQ, which ends its connections, and fence the host.

    The password is worth nothing afterwards. What runs on the host still runs: see the help of host fence.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--yes", action="store_true", help=f"Confirm the consequences: {CONSEQUENCES}.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        host = parse_service_host(parsed_args.host, "revoked")
        if not parsed_args.yes:
            raise CommandFailed(f"Revoking {host} means: {CONSEQUENCES}. Use --yes to confirm")
        user = senders.agent_user(host)
        existed = self.administration(parsed_args).revoke(user)
        self.show_message(f"User {user} is deleted" if existed else f"There is no user {user}")
        try:
            service = self.session.call(self.session.scheduler.get_host_state, "service", host)
        except errors.UnknownHost:
            self.show_message(f"{host} never reported: there is nothing to fence")
            return
        fence_host = self.session.claims_of(service.partition).fence_host
        # Forced: its last heartbeats may be recent.
        ended = self.session.call(fence_host, host, uuid.uuid4().hex, force=True)
        self.show_message(f"{host} is fenced: {ended} claims ended")
