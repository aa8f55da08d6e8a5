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
    enabled: ClassVar[bool]

    ARGUMENTS: ClassVar[Sequence[Argument]] = (Argument("host", help="The service host, with all its nodes."),)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        state = "enabled" if self.enabled else "disabled"
        host = parse_service_host(parsed_args.host, state)
        reason = getattr(parsed_args, "reason", None)
        host_changes.set_enabled(self.session, host, enabled=self.enabled, reason=reason)
        self.show_message(f"{host} is {state}")


class EnableHost(_SetEnabled):
    """Allow new servers on a host again.

    A host that is shown as a duplicate identity is one again only if its two agents still alternate.
    """

    enabled = True


class DisableHost(_SetEnabled):
    """Exclude a host from scheduling; its servers keep running."""

    enabled = False

    ARGUMENTS = (
        *_SetEnabled.ARGUMENTS,
        Argument("--reason", required=True, help="Reason, shown with the host."),
    )
