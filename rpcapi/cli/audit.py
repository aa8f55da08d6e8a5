# SPDX-License-Identifier: Apache-2.0
"""``gantt audit``: comparison of running guests with records and claims."""

import argparse
import time
from collections.abc import Iterator, Sequence
from itertools import compress

from rpcapi import errors
from rpcapi.admin import Session
from rpcapi.admin.argument import Argument, repeatable
from rpcapi.admin.service_states import AGENT
from rpcapi.cli import comparison, repair
from rpcapi.cli.command import CommandFailed, CommandOutput, Lister, timestamp_cell
from rpcapi.resources import names
from rpcapi.validation.instances import canonical_uuid

NOVA_COLUMNS = ("instance", "host", "request", "created", "claim")
COLUMNS = ("difference", "instance", "attempt", "host", "detail")
PAUSE_SECONDS = 3.0  # between two readings
REPAIR_PAUSE_SECONDS = 0.5


class AuditCluster(Lister):
    """Compare agents' guests with claims and records; exits 1 if anything differs.

    Shows only differences found by two readings, because the three cannot be read at one instant. `gantt claim verify`
    checks the store alone.

    --fix prints a plan with one act per difference and carries out the acts that end no possibly running guest: it
    adopts guests without a record, releases claims without guests, corrects records by their claims, and ends stopped
    guests at the sources of ended migrations. --yes also ends guests that may be running. A guest that may be the
    original or the only copy of its instance is kept; the plan says why, and how to decide. Nothing is repaired while
    the host's agent does not answer or a step of the instance is in progress. The command waits until the repaired
    differences are gone, and exits 1 if any is left.

    --nova lists claims for Nova that no instance on a host uses, because an answer was lost; exits 1 if any is left.
    """

    ARGUMENTS = (
        Argument(
            "--pause",
            type=float,
            default=PAUSE_SECONDS,
            metavar="SECONDS",
            help=f"Seconds between the two readings; use more than a boot takes. Default: {PAUSE_SECONDS:g}.",
        ),
        Argument("--nova", action="store_true", help="Compare claims made for Nova with Nova's instances."),
        Argument("--fix", action="store_true", help="Repair differences; with --nova: end unused claims."),
        Argument("--yes", action="store_true", help="With --fix: also end guests that may be running."),
        repeatable(
            "--end",
            type=canonical_uuid,
            metavar="UUID",
            help="With --fix: also end the guest at the source of this instance's leaked migration, even if it may be "
            "the original: compare the copies first. May be repeated.",
        ),
        Argument(
            "--timeout",
            type=float,
            default=60.0,
            metavar="SECONDS",
            help="With --fix: seconds to wait for the repairs. Default: 60.",
        ),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        if (parsed_args.yes or parsed_args.end) and (parsed_args.nova or not parsed_args.fix):
            raise CommandFailed("--yes and --end need --fix and exclude --nova, which ends no guests")
        if parsed_args.nova:
            return self._audit_nova(fix=parsed_args.fix)
        reading = read(self.session)
        differences = comparison.compare(reading)
        if differences:
            time.sleep(max(parsed_args.pause, 0.0))
            before = {difference[:4] for difference in differences}
            reading = read(self.session)
            differences = [item for item in comparison.compare(reading) if item[:4] in before]
        if not differences:
            self.show_message("guests, claims and records agree")
        rows = [(item.kind, item.instance, item.attempt, item.host, item.detail) for item in differences]
        if not parsed_args.fix:
            self.exit_code = 1 if differences else 0
            return COLUMNS, rows
        plan = repair.make_plan(reading, differences)
        repair.check_ends(plan, parsed_args.end)
        outcomes = self._carry_out(plan, yes=parsed_args.yes, ends=parsed_args.end)
        self.exit_code = 0 if self._await_repairs(differences, outcomes, parsed_args.timeout) else 1
        repairs = zip(rows, plan, outcomes, strict=True)
        return (*COLUMNS, "plan", "repair"), [(*row, act.text, outcome) for row, act, outcome in repairs]

    def _carry_out(self, plan: Sequence[repair.Act], *, yes: bool, ends: Sequence[str]) -> list[str]:
        for act in plan:
            self.show_message(f"plan: {act.text}")
        outcomes = repair.carry_out(self.session, plan, yes=yes, ends=ends)
        waiting = outcomes.count(repair.NEEDS_YES)
        if waiting:
            self.show_message(f"{waiting} guests that may be running are kept; repeat with --yes to end them")
        return outcomes

    def _await_repairs(
        self, differences: Sequence[comparison.Difference], outcomes: Sequence[str], timeout: float
    ) -> bool:
        deadline = time.monotonic() + timeout
        repaired = [not outcome.startswith(repair.NO_REPAIR) for outcome in outcomes]
        awaited = {item[:4] for item in compress(differences, repaired)}
        present = {item[:4] for item in differences}
        while present & awaited and time.monotonic() < deadline:
            time.sleep(REPAIR_PAUSE_SECONDS)
            present = {item[:4] for item in comparison.compare(read(self.session))}
        if present & awaited:
            self.show_message(f"{len(present & awaited)} repairs are not done after {timeout:g} s")
        return not present

    def _audit_nova(self, *, fix: bool) -> CommandOutput:
        leaks = list(self.session.list_all(self.session.scheduler.audit_nova, "leaks", fix=fix))
        self.exit_code = 0 if all(leak["ended"] for leak in leaks) else 1
        if not leaks:
            self.show_message("every claim for Nova has an instance on a host, or is new")
        return NOVA_COLUMNS, [
            (
                leak["consumer"],
                leak["host"],
                leak["request_id"],
                timestamp_cell(leak["created_ms"]),
                "ended" if leak["ended"] else "kept",
            )
            for leak in leaks
        ]


def read(session: Session) -> comparison.ClusterReading:
    """Read all claims, records and guests; skip agents that count as down."""
    claims = [claim for partition in session.partitions() for claim in session.list_claims(partition)]
    migrations = {item.uuid: item for item in session.list_migrations()}
    instances = {item.uuid: item for item in session.list_instances()}
    services = {
        state.name: bool(state.document.get("alive"))
        for state in session.list_states("service")
        if state.document.get("binary") == AGENT
    }
    # After data loss, only claims and records may still name a host.
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


def _guests_of(session: Session, host: str) -> Iterator[comparison.AgentGuest]:
    for page in session.pages(session.conductor.list_guests, host):
        yield from map(comparison.AgentGuest, page.uuids, page.attempts, page.names, page.states)
