# SPDX-License-Identifier: Apache-2.0
"""``gantt host drain``: moves all servers of a host to other hosts."""

import argparse
from typing import Any

from rpcapi.admin import draining
from rpcapi.admin.argument import Argument
from rpcapi.cli import move_options, progress
from rpcapi.cli.command import CommandOutput, Lister
from rpcapi.cli.service_host import parse_service_host

COLUMNS = ("server", "reason")


class DrainHost(Lister):
    """Disable a host and move all its servers to other hosts; lists the failures with reasons.

    Running servers are live-migrated, or stopped and moved with --cold; stopped servers stay off, shelved servers are
    offloaded. Members of an affinity group move together; a group with stopped members needs --cold. Migrations are
    confirmed as they finish, including those of an earlier run. A resize in VERIFY_RESIZE is left to its user; a server
    on its way to this host must arrive first. Repeat the command to continue and to retry failures; exits 1 if any
    server is left. `gantt host enable` lets the host take servers again.
    """

    ARGUMENTS = (
        Argument("host", help="The service host, with all its nodes."),
        *move_options.make_options(draining.PARALLEL),
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        how = parser.add_mutually_exclusive_group()
        how.add_argument(
            "--live", dest="is_live", action="store_true", default=True, help="Live-migrate running servers (default)."
        )
        how.add_argument("--cold", dest="is_live", action="store_false", help="Stop and move servers.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        host = parse_service_host(parsed_args.host, "drained")

        def make_bar(total: int) -> Any:
            return progress.progress_bar(total, "moved", self.app.stderr, parsed_args)

        result = draining.drain(
            self.session,
            host,
            make_bar,
            is_live=parsed_args.is_live,
            parallel=parsed_args.parallel,
            timeout=parsed_args.timeout,
        )
        self.exit_code = 1 if result.failures else 0
        off = f", {result.offloaded} offloaded" if result.offloaded else ""
        left = f", {len(result.failures)} could not be" if result.failures else ""
        self.show_message(f"{result.moved} of {result.total} servers of {host} are moved{off}{left}")
        return COLUMNS, result.failures
