# SPDX-License-Identifier: Apache-2.0
"""``gantt host replace``: declares a machine gone, and gives the host's name to another machine."""

import argparse

from rpcapi import errors
from rpcapi.cli import host_changes
from rpcapi.cli.argument import Argument
from rpcapi.cli.command import Command
from rpcapi.cli.error_messages import CommandFailed
from rpcapi.cli.service_host import parse_service_host

CONSEQUENCES = "the former machine is gone for good; its claims end; its guests are lost to gantt"


class ReplaceHost(Command):
    """Let a machine with a new state folder take over the name of a host whose former machine is gone for good.

    The agent of the new machine repeats its registration, and succeeds within [compute] retry_interval_max. All claims
    of the host end, as with host fence: without --yes only a host that has audited and has no claims is replaced. A
    host that still sends heartbeats is refused unless --force. If the former machine runs after all, its agent is
    refused as soon as the new one has registered, and its guests run on: an instance may run twice.
    """

    ARGUMENTS = (
        Argument("host", help="The service host."),
        Argument("--force", action="store_true", help="Replace the host even if it is up."),
        Argument("--yes", action="store_true", help=f"Confirm the consequences: {CONSEQUENCES}."),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        host = parse_service_host(parsed_args.host, "replaced")
        try:
            is_empty = host_changes.is_known_empty(self.session, host)
        except errors.UnknownHost:
            # Only its name may be known, as a host that the store forgot.
            self._check_confirmed(parsed_args.yes, host)
            self.session.call(self.session.scheduler.remove_host, host)
            self.show_message(f"No host {host} is known; none is awaited any longer")
            return
        if not is_empty:
            self._check_confirmed(parsed_args.yes, host)
        ended = host_changes.fence(self.session, host, force=parsed_args.force, replace=True)
        self.show_message(f"{host} may be replaced: {ended} claims ended")

    @staticmethod
    def _check_confirmed(is_confirmed: bool, host: str) -> None:
        if not is_confirmed:
            raise CommandFailed(f"Replacing {host} means: {CONSEQUENCES}. Use --yes to confirm")
