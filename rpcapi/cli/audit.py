# SPDX-License-Identifier: Apache-2.0
"""``gantt audit``: compares what agents run with what is recorded and claimed."""

import argparse
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rpcapi import errors
from rpcapi.cli import comparison
from rpcapi.cli.columns import TextColumn
from rpcapi.cli.command import Lister
from rpcapi.resources import names

if TYPE_CHECKING:
    from rpcapi.cli.session import Session

COLUMNS = ("difference", "instance", "attempt", "host", "detail")
AGENT = "gantt-compute"
PAUSE_SECONDS = 3.0  # between the two readings


class AuditCluster(Lister):
    """Compare what agents run with the claims and the records; exits 1 if anything differs.

    The three sides cannot be read at one instant, so what differs is read again after a pause, and only what differs
    both times is shown. `gantt claim verify` compares the store with itself.
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
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        differences = comparison.compare(read(self.session))
        if differences:
            time.sleep(max(parsed_args.pause, 0.0))
            before = {difference[:4] for difference in differences}
            differences = [item for item in comparison.compare(read(self.session)) if item[:4] in before]
        self.exit_code = 1 if differences else 0
        if not differences:
            self.show_message("guests, claims and records agree")
        return COLUMNS, [
            (item.kind, TextColumn(item.instance), TextColumn(item.attempt), item.host, item.detail)
            for item in differences
        ]


def read(session: "Session") -> comparison.ClusterReading:
    """Read all claims, records and guests, in pages; an agent that counts as down is not asked."""
    claims = [
        claim
        for partition in session.partitions()
        for claim in session.list_all(session.claims_of(partition).list_claims, "claims")
    ]
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
    return comparison.ClusterReading(claims, instances, guests, silent)


def _guests_of(session: "Session", host: str) -> Iterator[comparison.AgentGuest]:
    marker = None
    while True:
        page = session.call(session.conductor.list_guests, host, marker=marker)
        yield from map(comparison.AgentGuest, page.uuids, page.attempts, page.names, page.states)
        marker = page.marker
        if marker is None:
            return
