# SPDX-License-Identifier: Apache-2.0
"""``gantt host drain`` and ``evacuate``: moves of all servers of a host."""

import argparse
from collections.abc import Sequence
from typing import Any

from rpcapi.admin import host_moves
from rpcapi.admin.argument import Argument, parse_number
from rpcapi.admin.host_moves import MAX_OPEN
from rpcapi.cli import progress
from rpcapi.cli.command import CommandOutput, Lister
from rpcapi.cli.host_control import parse_service_host
from rpcapi.resources import names
from rpcapi.resources.statuses import MigrationKind

parse_parallel = parse_number(int, 1, MAX_OPEN)
COLUMNS = ("server", "reason")
PARALLEL = 50


def make_options(parallel: int) -> Sequence[Argument]:
    return (
        Argument(
            "--parallel",
            type=parse_parallel,
            default=parallel,
            metavar="N",
            help=f"Servers moved at a time, up to {MAX_OPEN} ({parallel}).",
        ),
        Argument(
            "--timeout", type=float, default=300.0, metavar="S", help="Seconds to wait for the next server (300)."
        ),
        progress.OPTION,
    )


class DrainHost(Lister):
    """Disable a host and move all its servers to other hosts; lists the failures with reasons.

    Running servers are live-migrated, or stopped and moved with --cold; stopped servers stay off, shelved servers are
    offloaded. Members of an affinity group move together; a group with stopped members needs --cold. Migrations are
    confirmed as they finish, including those of an earlier run. A resize in VERIFY_RESIZE is left to its user; a server
    on its way to this host must arrive first. Repeat the command to continue and to retry failures; exits 1 if any
    server is left. `gantt host enable` lets the host take servers again.
    """

    ARGUMENTS = (Argument("host", help="The service host, with all its nodes."), *make_options(host_moves.PARALLEL))

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

        result = host_moves.drain(
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


class EvacuateHost(Lister):
    """Rebuild all servers of a fenced host on other hosts; lists the failures with reasons.

    Stopped servers stay off. Repeat the command to continue and to retry failures; exits 1 if any server is left.
    """

    ARGUMENTS = (
        Argument("host", help="The service host, with all its nodes; it must be fenced."),
        *make_options(PARALLEL),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        host = parse_service_host(parsed_args.host, "evacuated")
        # Evacuations are decided one by one, so one call may request many.
        moves = host_moves.HostMoves(self.session, parsed_args.parallel, parsed_args.timeout, joins_batches=True)
        open_moves = [
            move
            for move in host_moves.open_moves(self.session)
            if move.kind == MigrationKind.EVACUATION and names.host_of(move.source_host) == host
        ]
        moving = {move.instance for move in open_moves}
        servers = [item for item in host_moves.servers_on(self.session, host) if item.uuid not in moving]
        evacuate = self.session.conductor.evacuate_instances
        total = len(servers) + len(open_moves)

        def start(batch: Sequence[Any], migrations: Sequence[str]) -> None:
            self.session.call(evacuate, [server.uuid for server in batch], list(migrations))

        with progress.progress_bar(total, "evacuated", self.app.stderr, parsed_args) as bar:
            moves.run([[server] for server in servers], open_moves, start, bar)
        self.exit_code = 1 if moves.failures else 0
        left = f", {len(moves.failures)} could not be" if moves.failures else ""
        self.show_message(f"{moves.moved} of {total} servers of {host} are evacuated{left}")
        return COLUMNS, moves.failures
