# SPDX-License-Identifier: Apache-2.0
"""``gantt host remove``: removes a host that is gone for good."""

import argparse

from rpcapi.cli.argument import Argument
from rpcapi.cli.command import Command
from rpcapi.cli.service_host import parse_service_host


class RemoveHost(Command):
    """Remove a host with all its nodes; it must have no claims. It returns if its agent still reports.

    A host that may run claims which the store forgot is fenced too, unless it is up: make sure that it is off.
    """

    ARGUMENTS = (Argument("host", help="The service host."),)

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        host = parse_service_host(parsed_args.host, "removed")
        self.session.call(self.session.scheduler.remove_host, host)
        self.show_message(f"{host} is removed")
