# SPDX-License-Identifier: Apache-2.0
"""lab.sh moves: the drain of a host, and the evacuation of hosts that are lost."""

import argparse
from collections.abc import Iterator, Sequence

from devstack.cluster_size import ClusterSize
from devstack.lab.benchmark import Benchmark, host_count, positive
from devstack.lab.moves.plan import MovesPlan
from devstack.lab.moves.scenario import PHASES, MovesMeasurements, PhaseTimes, measure
from devstack.lab.rows import ResultRow
from devstack.lab.rpc import deployment
from rpcapi.admin import draining
from rpcapi.cli import move_options


class MovesBenchmark(Benchmark):
    """Time the drain of a host by live migrations, and the evacuation of hosts that were killed and fenced.

    Runs a private cluster of real processes. A live migration is compared with the time that the simulator takes to
    copy a server, and the drain with such copies only; the evacuation with the boots of the same servers, whose guests
    start without delay. There is no time budget; servers, guests, claims and sums must agree.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--servers", type=positive, default=50, metavar="N", help="Servers of each host that is left (%(default)s)."
        )
        parser.add_argument(
            "--hosts",
            type=host_count,
            default=10,
            metavar="N",
            help="Hosts that are lost, and as many others, which take all servers (%(default)s).",
        )
        parser.add_argument(
            "--memory", type=positive, default=2048, metavar="MB", help="Memory of a server, to copy (%(default)s)."
        )
        parser.add_argument(
            "--parallel",
            type=move_options.parse_parallel,
            default=draining.PARALLEL,
            metavar="N",
            help="Servers that the drain moves at a time (%(default)s).",
        )
        parser.add_argument(
            "--per-request",
            type=positive,
            default=5,
            metavar="N",
            help="Servers of a boot request, which one thread of the conductor serves (%(default)s).",
        )
        parser.add_argument("--schedulers", type=positive, default=2, metavar="N", help="Workers (%(default)s).")
        deployment.add_bus_option(parser)
        return parser

    def measure(self, args: argparse.Namespace) -> Sequence[ResultRow]:
        rows: list[ResultRow] = []
        buses = deployment.buses(args.bus)
        plan = MovesPlan(args.servers, args.hosts, args.memory, args.parallel, args.per_request)
        with self.bar(PHASES * len(buses), "moving", args) as bar:
            for bus in buses:
                size = ClusterSize(deployment.MODES[bus], len(plan.names), nodes_per_host=1, schedulers=args.schedulers)
                rows += make_rows(bus, plan, measure(size, plan, bar))
        return rows


def make_rows(bus: str, plan: MovesPlan, measurements: MovesMeasurements) -> Iterator[ResultRow]:
    """Return the rows of one bus."""
    drain, boots, evacuation = measurements.drain, measurements.boots, measurements.evacuation
    yield ResultRow(
        f"a live migration beside its copy, {bus}",
        _p50(drain) / plan.copy_seconds,
        figures={**_percentiles(drain), "copy_s": plan.copy_seconds},
    )
    yield ResultRow(
        f"drain of a host beside its copies, {bus}",
        drain.seconds / plan.drain_seconds,
        figures={
            "servers": plan.servers,
            "parallel": plan.parallel,
            "seconds": drain.seconds,
            "copies_s": plan.drain_seconds,
        },
    )
    yield _work_row(f"decisions per live migration, {bus}", drain)
    yield ResultRow(
        f"an evacuation beside a boot, {bus}",
        _p50(evacuation) / _p50(boots),
        figures={**_percentiles(evacuation), **{f"boot_{key}": value for key, value in _percentiles(boots).items()}},
    )
    yield ResultRow(
        f"evacuation of all lost hosts beside the boots, {bus}",
        evacuation.seconds / boots.seconds,
        figures={
            "servers": plan.servers * plan.hosts,
            "hosts": plan.hosts,
            "seconds": evacuation.seconds,
            "servers_per_s": len(evacuation.durations.seconds) / evacuation.seconds,
            "boots_s": boots.seconds,
        },
    )
    yield _work_row(f"decisions per evacuation, {bus}", evacuation)
    first = {"first": measurements.faults[0]} if measurements.faults else {}
    yield ResultRow(
        f"moves amiss, {bus}",
        len(measurements.faults),
        0,
        figures={"servers": measurements.servers, "claims": measurements.claims, **first},
    )


def _percentiles(phase: PhaseTimes) -> dict[str, float]:
    return {"p50_s": _p50(phase), "p99_s": phase.durations.p99_us / 1e6} if len(phase.durations.seconds) else {}


def _p50(phase: PhaseTimes) -> float:
    """Return the median in seconds, 0 where nothing ended well."""
    return phase.durations.p50_us / 1e6 if len(phase.durations.seconds) else 0.0


def _work_row(name: str, phase: PhaseTimes) -> ResultRow:
    work = phase.work
    return ResultRow(
        name,
        work.decisions / max(1, len(phase.durations.seconds)),
        figures={
            "decisions_per_s": work.decisions / phase.seconds,
            "claims_per_s": work.claims / phase.seconds,
            "claim_verbs_per_s": work.verbs / phase.seconds,
        },
    )
