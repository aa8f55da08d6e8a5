# SPDX-License-Identifier: Apache-2.0
"""``gantt audit``: compares what agents run with what is recorded and claimed."""

import argparse
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rpcapi import errors
from rpcapi.cli import comparison
from rpcapi.cli.columns import TextColumn, TimestampColumn
from rpcapi.cli.command import Lister
from rpcapi.cli.repair import NO_REPAIR, repair
from rpcapi.resources import names

if TYPE_CHECKING:
    from rpcapi.cli.session import Session

NOVA_COLUMNS = ("instance", "host", "request", "created", "claim")
COLUMNS = ("difference", "instance", "attempt", "host", "detail")
AGENT = "gantt-compute"
PAUSE_SECONDS = 3.0  # between the two readings
REPAIR_PAUSE_SECONDS = 0.5  # between readings while repairs are carried out


class AuditCluster(Lister):
    """Compare what agents run with the claims and the records; exits 1 if anything differs.

    The three sides cannot be read at one instant, so what differs is read again after a pause, and only what differs
    both times is shown. `gantt claim verify` compares the store with itself.

    With --fix, what is shown is repaired where that is safe: a guest without a record is adopted, a claim that its host
    runs nothing under is released by it, a record is corrected by its claim, and what a migration left at its source is
    ended there. Nothing is repaired of a host whose agent does not answer, or while a step of the instance is under
    way. Then all is read until what was repaired is gone; exits 1 if any difference is left.

    With --nova: find the claims that gantt-scheduler made for Nova and that no instance on a host uses, because the
    answer was lost. Exits 1 if any is left.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--pause",
            type=float,
            default=PAUSE_SECONDS,
            metavar="SECONDS",
            help=f"Time between the two readings; use more than a boot takes. Default: {PAUSE_SECONDS:g}.",
        )
        parser.add_argument("--nova", action="store_true", help="Compare the claims for Nova with Nova's instances.")
        parser.add_argument(
            "--fix", action="store_true", help="Repair; with --nova: end the claims that no instance uses."
        )
        parser.add_argument(
            "--timeout",
            type=float,
            default=60.0,
            metavar="SECONDS",
            help="With --fix: limit of the wait until repairs are done. Default: 60.",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        if parsed_args.nova:
            return self._audit_nova(fix=parsed_args.fix)
        differences = comparison.compare(read(self.session))
        if differences:
            time.sleep(max(parsed_args.pause, 0.0))
            before = {difference[:4] for difference in differences}
            differences = [item for item in comparison.compare(read(self.session)) if item[:4] in before]
        if not differences:
            self.show_message("guests, claims and records agree")
        rows = [
            (item.kind, TextColumn(item.instance), TextColumn(item.attempt), item.host, item.detail)
            for item in differences
        ]
        if not parsed_args.fix:
            self.exit_code = 1 if differences else 0
            return COLUMNS, rows
        outcomes = repair(self.session, differences)
        self.exit_code = 0 if self._await_repairs(differences, outcomes, parsed_args.timeout) else 1
        return (*COLUMNS, "repair"), [(*row, outcome) for row, outcome in zip(rows, outcomes, strict=True)]

    def _await_repairs(
        self, differences: Sequence[comparison.Difference], outcomes: Sequence[str], timeout: float
    ) -> bool:
        """Read until no difference is left, or only those that were not repaired; return whether none is."""
        deadline = time.monotonic() + timeout
        awaited = {
            item[:4] for item, outcome in zip(differences, outcomes, strict=True) if not outcome.startswith(NO_REPAIR)
        }
        present = {item[:4] for item in differences}
        while present & awaited and time.monotonic() < deadline:
            time.sleep(REPAIR_PAUSE_SECONDS)
            present = {item[:4] for item in comparison.compare(read(self.session))}
        if present & awaited:
            self.show_message(f"{len(present & awaited)} repairs are not done after {timeout:g} s")
        return not present

    def _audit_nova(self, *, fix: bool) -> tuple[Sequence[str], Iterable[Any]]:
        leaks = list(self.session.list_all(self.session.scheduler.audit_nova, "leaks", fix=fix))
        self.exit_code = 0 if all(leak["ended"] for leak in leaks) else 1
        if not leaks:
            self.show_message("every claim for Nova has an instance on a host, or is new")
        return NOVA_COLUMNS, [
            (
                TextColumn(leak["consumer"]),
                leak["host"],
                leak["request_id"],
                TimestampColumn(leak["created_ms"]),
                "ended" if leak["ended"] else "kept",
            )
            for leak in leaks
        ]


def read(session: "Session") -> comparison.ClusterReading:
    """Read all claims, records and guests, in pages; an agent that counts as down is not asked."""
    claims = [
        claim
        for partition in session.partitions()
        for claim in session.list_all(session.claims_of(partition).list_claims, "claims")
    ]
    migrations = {item.uuid: item for item in session.list_all(session.conductor.list_migrations, "migrations")}
    instances = {item.uuid: item for item in session.list_all(session.conductor.list_instances, "instances")}
    services = {
        state.name: bool(state.document.get("alive"))
        for state in session.list_all(session.scheduler.list_host_state, "states", "service")
        if state.document.get("binary") == AGENT
    }
    # A store that lost its data does not know the hosts that claims and records name.
    resource_names = [claim["host"] for claim in claims] + [item.host for item in instances.values() if item.host]
    guests: list[comparison.AgentGuest] = []
    silent = set()
    for host in sorted({*services, *map(names.host_of, resource_names)}):
        try:
            if not services.get(host, True):
                raise errors.Unavailable(what=f"The agent of host {host!r}", why="it sends no heartbeats")
            guests += _guests_of(session, host)
        except errors.Unavailable:
            silent.add(host)
    return comparison.ClusterReading(claims, instances, guests, silent, migrations)


def _guests_of(session: "Session", host: str) -> Iterator[comparison.AgentGuest]:
    marker = None
    while True:
        page = session.call(session.conductor.list_guests, host, marker=marker)
        yield from map(comparison.AgentGuest, page.uuids, page.attempts, page.names, page.states)
        marker = page.marker
        if marker is None:
            return
