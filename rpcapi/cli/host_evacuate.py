# SPDX-License-Identifier: Apache-2.0
"""``gantt host evacuate``: rebuilds all servers of a fenced host on other hosts."""

import argparse
from collections.abc import Sequence
from typing import Any

from rpcapi.admin import host_moves
from rpcapi.admin.argument import Argument
from rpcapi.cli import move_options, progress
from rpcapi.cli.command import CommandOutput, Lister
from rpcapi.cli.comparison import EVACUATION
from rpcapi.cli.service_host import parse_service_host
from rpcapi.resources import names

COLUMNS = ("server", "reason")
PARALLEL = 50


class EvacuateHost(Lister):
    """Rebuild all servers of a fenced host on other hosts; lists the failures with reasons.

    Stopped servers stay off. Repeat the command to continue and to retry failures; exits 1 if any server is left.
    """

    ARGUMENTS = (
        Argument("host", help="The service host, with all its nodes; it must be fenced."),
        *move_options.make_options(PARALLEL),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        host = parse_service_host(parsed_args.host, "evacuated")
        # Evacuations are decided one by one, so one call may request many.
        moves = host_moves.HostMoves(self.session, parsed_args.parallel, parsed_args.timeout, joins_batches=True)
        open_moves = [
            move
            for move in host_moves.open_moves(self.session)
            if move.kind == EVACUATION and names.host_of(move.source_host) == host
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
