# SPDX-License-Identifier: Apache-2.0
"""``gantt host drain``: moves all servers of a host to others."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from rpcapi.cli import group, host_moves, progress
from rpcapi.cli.columns import TextColumn
from rpcapi.cli.command import Lister
from rpcapi.cli.service_host import parse_service_host
from rpcapi.cli.state_write import update_document

COLUMNS = ("server", "reason")
PARALLEL = 4
REASON = "drained"


class DrainHost(Lister):
    """Disable a host and move all its servers to other hosts; lists those that could not move, with the reason.

    Servers that run are copied while they run, or stopped on the way with --cold; stopped servers stay off. The members
    of an affinity group move together: one of which some are off needs --cold. Migrations
    are confirmed as they finish, also those of an earlier run; a resize that waits to be confirmed is left to its user.
    The records are the only state: a command that is repeated continues, and tries again what failed. Exits 1 if any
    server is left. `gantt host enable` lets the host take servers again.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("host", help="The service host, with all its nodes.")
        how = parser.add_mutually_exclusive_group()
        how.add_argument(
            "--live", dest="is_live", action="store_true", default=True, help="Copy servers while they run (default)."
        )
        how.add_argument("--cold", dest="is_live", action="store_false", help="Stop servers to move them.")
        host_moves.add_options(parser, PARALLEL)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        host = parse_service_host(parsed_args.host, "drained")
        self._disable(host)
        moves = host_moves.HostMoves(self.session, parsed_args.parallel, parsed_args.timeout)
        open_moves = host_moves.open_moves_from(self.session, host)
        moving = {move.instance for move in open_moves}
        servers = [item for item in host_moves.servers_on(self.session, host) if item.uuid not in moving]
        total = len(servers) + len(open_moves)
        conductor = self.session.conductor

        def start(batch: Sequence[Any], migrations: Sequence[str]) -> None:
            is_live = parsed_args.is_live and any(server.status == "ACTIVE" for server in batch)
            migrate = conductor.live_migrate_instances if is_live else conductor.migrate_instances
            self.session.call(migrate, [server.uuid for server in batch], list(migrations))

        with progress.progress_bar(total, "moved", self.app.stderr, parsed_args) as bar:
            moves.run(group.affinity_batches(self.session, host, servers), open_moves, start, bar)
        self.exit_code = 1 if moves.failures else 0
        left = f", {len(moves.failures)} could not be" if moves.failures else ""
        self.show_message(f"{moves.moved} of {total} servers of {host} are moved{left}")
        return COLUMNS, [(failure.server, TextColumn(failure.reason)) for failure in moves.failures]

    def _disable(self, host: str) -> None:
        """Exclude the host from scheduling, unless that was done, whose reason is kept."""
        state = self.session.call(self.session.scheduler.get_host_state, "service", host)
        if state.document.get("enabled"):
            update_document(self.session, "service", host, {"enabled": False, "disabled_reason": REASON})
