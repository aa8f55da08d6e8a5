# SPDX-License-Identifier: Apache-2.0
"""``gantt host remove``: a host that left for good."""

import argparse

from rpcapi.model import names
from rpcapi.shell.command import Command


class HostRemove(Command):
    """Forget a host with all its nodes; it must hold no claims. One whose agent still reports comes back."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("host", help="The service host.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        host = names.canonical(parsed_args.host)
        self.session.ask(self.session.scheduler.remove_host, host)
        self.tell(f"{host} is forgotten")
