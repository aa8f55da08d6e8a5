# SPDX-License-Identifier: Apache-2.0
"""``gantt host enable`` and ``disable``: whether new servers may be placed on a service host."""

import argparse
from collections.abc import Sequence
from typing import ClassVar

from rpcapi.cli import host_changes
from rpcapi.cli.argument import Argument
from rpcapi.cli.command import Command
from rpcapi.cli.service_host import parse_service_host


class _SetEnabled(Command):
    enabled: bool

    ARGUMENTS: ClassVar[Sequence[Argument]] = (Argument("host", help="The service host, with all its nodes."),)

    def set_enabled(self, name: str, reason: str | None) -> None:
        """Write the enablement; overrides a concurrent change of it."""
        state = "enabled" if self.enabled else "disabled"
        host = parse_service_host(name, state)
        host_changes.set_enabled(self.session, host, enabled=self.enabled, reason=reason)
        self.show_message(f"{host} is {state}")


class EnableHost(_SetEnabled):
    """Allow new servers on a host again.

    A host that is shown as a duplicate identity is one again only if its two agents still alternate.
    """

    enabled = True

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.set_enabled(parsed_args.host, None)


class DisableHost(_SetEnabled):
    """Exclude a host from scheduling; its servers keep running."""

    enabled = False

    ARGUMENTS = (
        *_SetEnabled.ARGUMENTS,
        Argument("--reason", required=True, help="Reason, shown with the host."),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.set_enabled(parsed_args.host, parsed_args.reason)
