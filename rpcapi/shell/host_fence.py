# SPDX-License-Identifier: Apache-2.0
"""``gantt host fence``: the operator's word that a machine runs nothing any more."""

import argparse

from rpcapi.model import names
from rpcapi.shell import faults
from rpcapi.shell.command import Command

MEANING = "the machine is off or cut off; its claims end; its guests are lost to gantt"


class HostFence(Command):
    """End all claims of a host that will not come back, so that nobody waits for it any longer.

    Only an operator can know that nothing runs there. Where that is wrong an instance may run twice, until the host's
    agent audits again, is told that its claims ended, and stops their guests.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("host", help="The service host; the claims on all its nodes end.")
        parser.add_argument("--yes", action="store_true", help=f"Confirm what this means: {MEANING}.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        host = names.canonical(parsed_args.host)
        if not parsed_args.yes:
            raise faults.CommandFailed(f"To fence {host} means: {MEANING}. If that is so, say --yes")
        service = self.session.ask(self.session.scheduler.get_host_state, "service", host)
        ended = self.session.ask(self.session.claims_of(service.partition).fence_host, host)
        self.tell(f"{host} is fenced: {ended} claims ended")
