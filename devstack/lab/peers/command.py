# SPDX-License-Identifier: Apache-2.0
"""lab.sh peers: speed of Nova's scheduler and Placement against gantt's, for the same work."""

import argparse
import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from devstack import peer_environments
from devstack.lab.benchmark import Benchmark, host_count, list_of
from devstack.lab.decide.command import decision_subject
from devstack.lab.hosts import table
from devstack.lab.peers import ours, side
from devstack.lab.peers.comparison import BLOCKS, PeerComparison, interleave_with_peer
from devstack.lab.peers.side import PeerFailed, PeerProcess
from devstack.lab.peers.workload import MAX_LOAD, PeerWorkload
from devstack.lab.rows import ResultRow
from devstack.lab.timing import Times
from devstack.peer_environments import NOVA, PEERS, PLACEMENT, Peer, PeerMissing
from rpcapi.cli.command import CommandFailed

BUDGETS = {1_000: 500.0, 10_000: 2_000.0}  # by number of hosts: time of Nova's decision divided by gantt's
BLOCK_HOSTS = 5_000  # hosts checked per block of a peer, within bounds
OUR_SIZE = 50
CLAIMS = 10

DECIDE_NOT_MEASURED = (
    "Nova: loading hosts from its database, building host states (build_p50_ms), querying Placement, claiming, "
    "RPC. Its default filters leave capacity to Placement; ours check capacity as well. Ours: RPC, claiming."
)
CANDIDATES_NOT_MEASURED = (
    "Placement: HTTP, Keystone, a database server (SQLite file, in process); it also returns summaries of each host. "
    "Ours: RPC; it uses no SQL. Both return up to 1,000 hosts."
)
CLAIM_NOT_MEASURED = (
    "Placement: HTTP, Keystone, a database server: SQLite syncs its file at each commit. "
    "Ours: RPC; Redis syncs each second, and the claim is prepared, not confirmed."
)

Measure = Callable[[PeerWorkload, PeerProcess, Any], Iterator[ResultRow]]


class PeersBenchmark(Benchmark):
    """Time Nova's filters and weighers, and Placement's candidates and claims, against gantt's on the same hosts.

    Each peer runs in a virtual environment of its own, in a process that times itself, alternating with gantt's calls.
    Each result row says what its comparison leaves out.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--hosts",
            type=list_of(host_count),
            default="1000,10000",
            metavar="N,...",
            help="Numbers of hosts (%(default)s).",
        )
        parser.add_argument(
            "--install",
            action="store_true",
            help=f"First install missing peers from PyPI: {', '.join(peer.release for peer in PEERS)}; about 400 MB.",
        )
        peer_environments.add_cache_option(parser)
        return parser

    def measure(self, args: argparse.Namespace) -> Sequence[ResultRow]:
        comparisons: list[tuple[Peer, Measure, int]] = [(NOVA, _decide, 1), (PLACEMENT, _allocate, 2)]
        rows: list[ResultRow] = []
        total = sum(lots for *_, lots in comparisons) * (BLOCKS + 1) * len(args.hosts)
        with self.bar(total, "measuring", args) as bar:
            for peer, measure, _ in comparisons:
                try:
                    rows += self._of(peer, measure, args, bar)
                except PeerMissing as why:
                    self.app.stderr.write(f"{why}\n")
                except PeerFailed as why:
                    self.app.stderr.write(f"{peer.release} cannot be measured: {why}\n")
        if not rows:
            raise CommandFailed("No peer could be measured: see above")
        return rows

    @staticmethod
    def _of(peer: Peer, measure: Measure, args: argparse.Namespace, bar: Any) -> list[ResultRow]:
        if args.install:
            peer_environments.install(peer, args.cache)
        command = [str(peer_environments.python(peer, args.cache)), "-s", str(side.INSIDE / peer.script)]
        rows: list[ResultRow] = []
        for size in args.hosts:
            with side.running(command) as running:
                rows += measure(PeerWorkload(size), running, bar)
        return rows


def _decide(workload: PeerWorkload, nova: PeerProcess, bar: Any) -> Iterator[ResultRow]:
    summary = nova.ask("prepare", hosts=workload.peer_hosts(), requests=workload.peer_requests())
    size = max(1, min(5, BLOCK_HOSTS // workload.size))
    comparison = interleave_with_peer(
        partial(_ask, nova, "decide"),
        decision_subject(table(workload.size, MAX_LOAD)),
        size=size,
        gantt_size=OUR_SIZE,
        tick=bar.update,
    )
    build = sorted(nova.ask("build", first=0, count=size + 2))
    yield _row(
        f"decide: {NOVA.release} / ours, {workload.size} hosts",
        comparison,
        workload,
        BUDGETS.get(workload.size),
        filters=summary["filters"],
        weighers=summary["weighers"],
        build_p50_ms=1000 * build[len(build) // 2],
        left_out=DECIDE_NOT_MEASURED,
    )


def _allocate(workload: PeerWorkload, placement: PeerProcess, bar: Any) -> Iterator[ResultRow]:
    summary = placement.ask("prepare", hosts=workload.peer_hosts(), requests=workload.peer_requests())
    size = max(1, min(5, BLOCK_HOSTS // workload.size))
    comparison = interleave_with_peer(
        partial(_ask, placement, "candidates"),
        ours.candidates_subject(table(workload.size, MAX_LOAD)),
        size=size,
        gantt_size=OUR_SIZE,
        tick=bar.update,
    )
    yield _row(
        f"candidates: {PLACEMENT.release} / ours, {workload.size} hosts",
        comparison,
        workload,
        None,
        candidates=summary["candidates"],
        left_out=CANDIDATES_NOT_MEASURED,
    )
    with contextlib.ExitStack() as stack:
        claim = stack.enter_context(ours.claim_subject(workload))
        comparison = interleave_with_peer(
            partial(_ask, placement, "claim"), claim, size=CLAIMS, gantt_size=OUR_SIZE, tick=bar.update
        )
    yield _row(
        f"claim: {PLACEMENT.release} / ours, {workload.size} hosts",
        comparison,
        workload,
        None,
        left_out=CLAIM_NOT_MEASURED,
    )


def _ask(peer: PeerProcess, verb: str, first: int, count: int) -> list[float]:
    return [float(seconds) for seconds in peer.ask(verb, first=first, count=count)]


def _row(
    name: str, comparison: PeerComparison, workload: PeerWorkload, budget: float | None, **more: float | int | str
) -> ResultRow:
    figures: dict[str, float | int | str] = {
        "hosts": workload.size,
        "theirs_p50_ms": _ms(comparison.peer_times),
        "theirs_least_ms": 1000 * float(comparison.peer_times.seconds.min()),
        "theirs_calls": len(comparison.peer_times.seconds),
        "ours_p50_ms": _ms(comparison.gantt_times),
        "ours_least_ms": 1000 * float(comparison.gantt_times.seconds.min()),
        "ours_calls": len(comparison.gantt_times.seconds),
        **more,
    }
    return ResultRow(name, comparison.ratio, budget, "at least", figures)


def _ms(times: Times) -> float:
    return times.p50_us / 1000
