# SPDX-License-Identifier: Apache-2.0
"""gantt-lab peers: how much of the same work do Nova's scheduler and Placement get done in the same minute?"""

import argparse
import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from devstack.lab.command import Question, host_count
from devstack.lab.decide import decision
from devstack.lab.hosts import table
from devstack.lab.peers import environments, ours, side
from devstack.lab.peers.duel import LOTS, Measured, duel
from devstack.lab.peers.environments import NOVA, PEERS, PLACEMENT, Peer, PeerMissing
from devstack.lab.peers.field import LOADED, Field
from devstack.lab.peers.side import PeerFailed, Side
from devstack.lab.rows import Row
from devstack.lab.timing import Times
from rpcapi.shell.faults import CommandFailed

BUDGETS = {1_000: 500.0, 10_000: 2_000.0}  # by hosts: Nova's decision over ours
LOT_HOSTS = 5_000  # hosts that one lot of a peer looks at, within bounds
OUR_SIZE = 50
CLAIMS = 10

DECIDE_LEFT_OUT = (
    "Nova: loading hosts from its database, making host states of them (build_p50_ms), asking Placement, claiming, "
    "RPC. Its default filters leave room to Placement; ours judge room as well. Ours: RPC, claiming."
)
CANDIDATES_LEFT_OUT = (
    "Placement: HTTP, Keystone, a database server (SQLite file, in process); it also writes summaries of each host. "
    "Ours: RPC; it keeps no SQL. Both name up to 1,000 hosts."
)
CLAIM_LEFT_OUT = (
    "Placement: HTTP, Keystone, a database server: SQLite syncs its file at each commit. "
    "Ours: RPC; Redis syncs each second, and the claim is prepared, to be confirmed."
)

Measure = Callable[[Field, Side, Any], Iterator[Row]]


def sizes(text: str) -> list[int]:
    """Return the numbers of hosts of a list; for argparse."""
    return [host_count(part) for part in text.split(",")]


class Peers(Question):
    """Time Nova's filters and weighers, and Placement's candidates and claims, against ours on the same hosts.

    Each peer runs in a virtual environment of its own, in a process that times itself, in turns with ours. What a
    comparison leaves out is said with it.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--hosts", type=sizes, default="1000,10000", metavar="N,...", help="Numbers of hosts (%(default)s)."
        )
        parser.add_argument(
            "--install",
            action="store_true",
            help=f"First install what is missing from PyPI: {', '.join(peer.release for peer in PEERS)}; some 400 MB.",
        )
        parser.add_argument(
            "--cache",
            type=Path,
            default=environments.default_cache(),
            metavar="FOLDER",
            help="Where the environments are kept (%(default)s).",
        )
        return parser

    def measure(self, args: argparse.Namespace) -> Sequence[Row]:
        questions: list[tuple[Peer, Measure, int]] = [(NOVA, _decide, 1), (PLACEMENT, _allocate, 2)]
        found: list[Row] = []
        total = sum(lots for *_, lots in questions) * (LOTS + 1) * len(args.hosts)
        with self.bar(total, "measuring", args) as bar:
            for peer, measure, _ in questions:
                try:
                    found += self._of(peer, measure, args, bar)
                except PeerMissing as why:
                    self.app.stderr.write(f"{why}\n")
                except PeerFailed as why:
                    self.app.stderr.write(f"{peer.release} cannot be measured: {why}\n")
        if not found:
            raise CommandFailed("No peer could be measured: see above")
        return found

    @staticmethod
    def _of(peer: Peer, measure: Measure, args: argparse.Namespace, bar: Any) -> list[Row]:
        if args.install:
            environments.install(peer, args.cache)
        command = [str(environments.python(peer, args.cache)), "-s", str(side.INSIDE / peer.script)]
        found: list[Row] = []
        for size in args.hosts:
            with side.running(command) as running:
                found += measure(Field(size), running, bar)
        return found


def _decide(field: Field, nova: Side, bar: Any) -> Iterator[Row]:
    told = nova.ask("prepare", hosts=field.told(), requests=field.asked())
    size = max(1, min(5, LOT_HOSTS // field.size))
    measured = duel(
        partial(_ask, nova, "decide"),
        decision(table(field.size, LOADED)),
        size=size,
        our_size=OUR_SIZE,
        tick=bar.update,
    )
    build = sorted(nova.ask("build", first=0, count=size + 2))
    yield _row(
        f"decide: {NOVA.release} / ours, {field.size} hosts",
        measured,
        field,
        BUDGETS.get(field.size),
        filters=told["filters"],
        weighers=told["weighers"],
        build_p50_ms=1000 * build[len(build) // 2],
        left_out=DECIDE_LEFT_OUT,
    )


def _allocate(field: Field, placement: Side, bar: Any) -> Iterator[Row]:
    told = placement.ask("prepare", hosts=field.told(), requests=field.asked())
    size = max(1, min(5, LOT_HOSTS // field.size))
    measured = duel(
        partial(_ask, placement, "candidates"),
        ours.candidates(table(field.size, LOADED)),
        size=size,
        our_size=OUR_SIZE,
        tick=bar.update,
    )
    yield _row(
        f"candidates: {PLACEMENT.release} / ours, {field.size} hosts",
        measured,
        field,
        None,
        candidates=told["candidates"],
        left_out=CANDIDATES_LEFT_OUT,
    )
    with contextlib.ExitStack() as stack:
        claim = stack.enter_context(ours.claiming(field))
        measured = duel(partial(_ask, placement, "claim"), claim, size=CLAIMS, our_size=OUR_SIZE, tick=bar.update)
    yield _row(f"claim: {PLACEMENT.release} / ours, {field.size} hosts", measured, field, None, left_out=CLAIM_LEFT_OUT)


def _ask(peer: Side, verb: str, first: int, count: int) -> list[float]:
    return [float(each) for each in peer.ask(verb, first=first, count=count)]


def _row(name: str, measured: Measured, field: Field, budget: float | None, **more: float | int | str) -> Row:
    figures: dict[str, float | int | str] = {
        "hosts": field.size,
        "theirs_p50_ms": _ms(measured.theirs),
        "theirs_least_ms": 1000 * float(measured.theirs.seconds.min()),
        "theirs_calls": len(measured.theirs.seconds),
        "ours_p50_ms": _ms(measured.ours),
        "ours_least_ms": 1000 * float(measured.ours.seconds.min()),
        "ours_calls": len(measured.ours.seconds),
        **more,
    }
    return Row(name, measured.ratio, budget, "at least", figures)


def _ms(times: Times) -> float:
    return times.p50_us / 1000
