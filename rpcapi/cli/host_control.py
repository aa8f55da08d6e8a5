# SPDX-License-Identifier: Apache-2.0
"""``gantt host enable``, ``disable``, ``fence``, ``replace`` and ``remove``."""

import argparse
from collections.abc import Sequence
from typing import ClassVar

from rpcapi import errors
from rpcapi.admin import host_control
from rpcapi.admin.argument import Argument
from rpcapi.cli.command import Command, CommandFailed
from rpcapi.resources import names

HOST = Argument("host", help="The service host, with all its nodes.")


def parse_service_host(text: str, action: str) -> str:
    """Return the canonical name of a service host; raises CommandFailed for a node."""
    name = names.canonical(text)
    host = names.host_of(name)
    if name != host:
        raise CommandFailed(f"{name} is a node; only a service host with all its nodes can be {action}: {host}")
    return host


class _SetEnabled(Command):
    enabled: ClassVar[bool]

    ARGUMENTS: ClassVar[Sequence[Argument]] = (HOST,)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        state = "enabled" if self.enabled else "disabled"
        host = parse_service_host(parsed_args.host, state)
        reason = getattr(parsed_args, "reason", None)
        host_control.set_enabled(self.session, host, enabled=self.enabled, reason=reason)
        self.show_message(f"{host} is {state}")


class EnableHost(_SetEnabled):
    """Allow new servers on a host again.

    Also clears the mark of a duplicate identity, which returns only if the two agents still alternate.
    """

    enabled = True


class DisableHost(_SetEnabled):
    """Exclude a host from scheduling; its servers keep running."""

    enabled = False

    ARGUMENTS = (HOST, Argument("--reason", required=True, help="Reason, shown with the host."))


class EndHostCommand(Command):
    """Command that ends a host's claims, and needs --yes to confirm its CONSEQUENCES."""

    CONSEQUENCES: ClassVar[str]

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--yes", action="store_true", help=f"Confirm the consequences: {self.CONSEQUENCES}.")
        return parser

    def check_confirmed(self, parsed_args: argparse.Namespace, act: str) -> None:
        """Raise CommandFailed without --yes; ``act`` is the subject of the message."""
        if not parsed_args.yes:
            raise CommandFailed(f"{act} means: {self.CONSEQUENCES}. Use --yes to confirm")


class FenceHost(EndHostCommand):
    """End all claims of a host that will not return.

    Make sure that no guest runs there: otherwise an instance may run twice, until the host's agent audits, learns that
    its claims ended, and stops their guests. A host that still sends heartbeats is refused unless --force.
    """

    CONSEQUENCES = "the machine is off or isolated; its claims end; its guests are lost to gantt"
    ARGUMENTS = (
        HOST,
        Argument(
            "--force", action="store_true", help="Fence the host even if it is up; its guests stop at its next audit."
        ),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        host = parse_service_host(parsed_args.host, "fenced")
        self.check_confirmed(parsed_args, f"Fencing {host}")
        ended = host_control.fence(self.session, host, force=parsed_args.force)
        self.show_message(f"{host} is fenced: {ended} claims ended")


class ReplaceHost(EndHostCommand):
    """Let a machine with a new state folder take over a host's name; the former machine must be gone for good.

    The new agent repeats its registration, and succeeds within [compute] retry_interval_max. All claims of the host
    end, as with host fence: without --yes only an audited host without claims is replaced. A host that still sends
    heartbeats is refused unless --force. If the former machine runs after all, its agent is refused once the new one
    has registered, but its guests keep running: an instance may run twice.
    """

    CONSEQUENCES = "the former machine is gone for good; its claims end; its guests are lost to gantt"
    ARGUMENTS = (HOST, Argument("--force", action="store_true", help="Replace the host even if it is up."))

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        host = parse_service_host(parsed_args.host, "replaced")
        try:
            is_empty = host_control.is_known_empty(self.session, host)
        except errors.UnknownHost:
            # The store may have lost the service and still await the host's audit.
            self.check_confirmed(parsed_args, f"Replacing {host}")
            self.session.call(self.session.scheduler.remove_host, host)
            self.show_message(f"Host {host} is unknown; it is no longer awaited")
            return
        if not is_empty:
            self.check_confirmed(parsed_args, f"Replacing {host}")
        ended = host_control.fence(self.session, host, force=parsed_args.force, replace=True)
        self.show_message(f"{host} may be replaced: {ended} claims ended")


class RemoveHost(Command):
    """Remove a host with all its nodes; it must have no claims. It returns if its agent still reports.

    A host that may run claims forgotten by the store is fenced too, unless it is up: make sure that it is off.
    """

    ARGUMENTS = (HOST,)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        host = parse_service_host(parsed_args.host, "removed")
        self.session.call(self.session.scheduler.remove_host, host)
        self.show_message(f"{host} is removed")
