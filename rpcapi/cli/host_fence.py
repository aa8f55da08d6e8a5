# SPDX-License-Identifier: Apache-2.0
"""``gantt host fence``: declares that a machine runs nothing any more."""

import argparse

from rpcapi.cli import error_messages, host_changes
from rpcapi.cli.argument import Argument
from rpcapi.cli.command import Command
from rpcapi.cli.service_host import parse_service_host

CONSEQUENCES = "the machine is off or isolated; its claims end; its guests are lost to gantt"


class FenceHost(Command):
    """End all claims of a host that will not return, so that nothing waits for it any longer.

    A host that still sends heartbeats is refused unless --force. Only an operator can know that nothing runs there. If
    something does, an instance may run twice, until the host's agent audits again, learns that its claims ended, and
    stops their guests.
    """

    ARGUMENTS = (
        Argument("host", help="The service host; claims on all its nodes end."),
        Argument(
            "--force", action="store_true", help="Fence the host even if it is up; its guests stop at its next audit."
        ),
        Argument("--yes", action="store_true", help=f"Confirm the consequences: {CONSEQUENCES}."),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        host = parse_service_host(parsed_args.host, "fenced")
        if not parsed_args.yes:
            raise error_messages.CommandFailed(f"Fencing {host} means: {CONSEQUENCES}. Use --yes to confirm")
        ended = host_changes.fence(self.session, host, force=parsed_args.force)
        self.show_message(f"{host} is fenced: {ended} claims ended")
