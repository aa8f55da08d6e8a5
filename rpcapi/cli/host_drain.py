# SPDX-License-Identifier: Apache-2.0
"""``gantt host drain``: moves all servers of a host to others."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from rpcapi import errors
from rpcapi.cli import group, host_moves, progress, waiting
from rpcapi.cli.columns import TextColumn
from rpcapi.cli.command import Lister
from rpcapi.cli.service_host import parse_service_host
from rpcapi.cli.state_write import update_document
from rpcapi.resources import names

COLUMNS = ("server", "reason")
PARALLEL = 4
REASON = "drained"
SHELVED = frozenset({"SHELVED", "OFFLOADING"})


class _Servers(NamedTuple):
    """What a host has: migrations from it and to it, shelved servers (their uuids), and records of the others."""

    leaving: Sequence[Any]
    arriving: Sequence[Any]
    shelved: Sequence[str]
    others: Sequence[Any]


class DrainHost(Lister):
    """Disable a host and move all its servers to other hosts; lists those that could not move, with the reason.

    Servers that run are copied while they run, or stopped on the way with --cold; stopped servers stay off, and shelved
    ones are offloaded. The members of an affinity group move together: one of which some are off needs --cold.
    Migrations are confirmed as they finish, also those of an earlier run; a resize that waits to be confirmed is left
    to its user, and a server that is on its way to this host must arrive first. The records are the only state: a
    command that is repeated continues, and tries again what failed. Exits 1 if any server is left. `gantt host enable`
    lets the host take servers again.
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
        servers = self._servers(host)
        total = sum(map(len, servers))
        conductor = self.session.conductor

        def start(batch: Sequence[Any], migrations: Sequence[str]) -> None:
            is_live = parsed_args.is_live and any(server.status == "ACTIVE" for server in batch)
            migrate = conductor.live_migrate_instances if is_live else conductor.migrate_instances
            self.session.call(migrate, [server.uuid for server in batch], list(migrations))

        with progress.progress_bar(total, "moved", self.app.stderr, parsed_args) as bar:
            for move in servers.arriving:
                reason = (
                    f"its migration {move.uuid} to {host} is {move.status}: run the command again when it has ended"
                )
                moves.fail(move.instance, reason, bar)
            offloaded = self._offload(servers.shelved, moves, parsed_args.timeout, bar)
            moves.run(group.affinity_batches(self.session, host, servers.others), servers.leaving, start, bar)
        self.exit_code = 1 if moves.failures else 0
        off = f", {offloaded} offloaded" if offloaded else ""
        left = f", {len(moves.failures)} could not be" if moves.failures else ""
        self.show_message(f"{moves.moved} of {total} servers of {host} are moved{off}{left}")
        return COLUMNS, [(failure.server, TextColumn(failure.reason)) for failure in moves.failures]

    def _servers(self, host: str) -> "_Servers":
        moves = host_moves.open_moves(self.session)
        leaving = [move for move in moves if names.host_of(move.source_host) == host]
        arriving = [
            move for move in moves if names.host_of(move.destination_host or "") == host and move not in leaving
        ]
        moving = {move.instance for move in (*leaving, *arriving)}
        rest = [server for server in host_moves.servers_on(self.session, host) if server.uuid not in moving]
        shelved = [server.uuid for server in rest if server.status in SHELVED]
        return _Servers(leaving, arriving, shelved, [server for server in rest if server.status not in SHELVED])

    def _offload(self, servers: Sequence[str], moves: host_moves.HostMoves, timeout: float, bar: Any) -> int:
        """Offload shelved servers, which then are on no host; return the number of those that are."""
        for server in servers:
            try:
                self.session.call(self.session.conductor.offload_instances, [server])
            except errors.InstanceConflict:
                continue  # it has changed: its status is named below
        ends = waiting.wait_for_status(self.session, servers, waiting.END_STATUSES - SHELVED, timeout, bar)
        left = [record for record in ends.values() if record.status not in ("SHELVED_OFFLOADED", "DELETED")]
        moves.failures += [host_moves.MoveFailure(record.uuid, f"it is {record.status}") for record in left]
        return len(ends) - len(left)

    def _disable(self, host: str) -> None:
        """Exclude the host from scheduling, unless that was done, whose reason is kept."""
        state = self.session.call(self.session.scheduler.get_host_state, "service", host)
        if state.document.get("enabled"):
            update_document(self.session, "service", host, {"enabled": False, "disabled_reason": REASON})
