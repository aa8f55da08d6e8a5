# SPDX-License-Identifier: Apache-2.0
"""lab.sh overload: goodput, and another project's boots, while one project requests many times the peak."""

import argparse
from collections.abc import Iterator, Sequence

from devstack.cluster_size import ClusterSize
from devstack.lab.benchmark import Benchmark, host_count, positive, up_to
from devstack.lab.overload.scenario import OverloadMeasurements, OverloadPlan, measure
from devstack.lab.rows import ResultRow
from devstack.lab.rpc import deployment

NODES_PER_HOST = 10
PHASES = 5
GOODPUT_BUDGET, LATENCY_BUDGET, MEMORY_BUDGET = 0.8, 10.0, 1.1


class OverloadBenchmark(Benchmark):
    """Request servers for one project at ten times the cluster's peak rate, while another project boots single ones.

    Runs a private cluster of real processes; the simulated guests start without delay. The peak is the rate at which
    requests that were sent at once become ACTIVE; the other project's quiet boots are measured before them.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        plan = OverloadPlan()
        parser.add_argument(
            "--hosts", type=host_count, default=100, metavar="N", help="Service hosts of 10 nodes each (%(default)s)."
        )
        parser.add_argument("--schedulers", type=positive, default=2, metavar="N", help="Workers (%(default)s).")
        parser.add_argument("--batch", type=positive, default=plan.batch, metavar="N", help="Servers per request.")
        parser.add_argument(
            "--factor",
            type=up_to(100, "a factor"),
            default=plan.factor,
            metavar="F",
            help="Requested rate relative to the peak (%(default)s).",
        )
        parser.add_argument(
            "--seconds",
            type=up_to(3600, "a number of seconds"),
            default=plan.seconds,
            metavar="S",
            help="Length of the overload (%(default)s).",
        )
        parser.add_argument(
            "--backlog", type=positive, default=plan.backlog, metavar="N", help="[conductor] max_backlog (%(default)s)."
        )
        parser.add_argument(
            "--building",
            type=positive,
            default=plan.building,
            metavar="N",
            help="[conductor] max_building (%(default)s).",
        )
        deployment.add_bus_option(parser)
        return parser

    def measure(self, args: argparse.Namespace) -> Sequence[ResultRow]:
        rows: list[ResultRow] = []
        buses = deployment.buses(args.bus)
        plan = OverloadPlan(
            batch=args.batch, factor=args.factor, seconds=args.seconds, backlog=args.backlog, building=args.building
        )
        with self.bar(PHASES * len(buses), "overloading", args) as bar:
            for bus in buses:
                size = ClusterSize(deployment.MODES[bus], args.hosts, NODES_PER_HOST, args.schedulers)
                rows += make_rows(bus, measure(size, plan, bar))
        return rows


def make_rows(bus: str, measurements: OverloadMeasurements) -> Iterator[ResultRow]:
    """Return the rows of one bus."""
    quiet, overloaded = measurements.quiet, measurements.overloaded
    yield ResultRow(
        f"goodput beside the peak, {bus}",
        measurements.goodput / measurements.peak,
        GOODPUT_BUDGET,
        "at least",
        {
            "peak_per_s": measurements.peak,
            "goodput_per_s": measurements.goodput,
            "offered_per_s": measurements.offered,
            **{f"requests_{answer}": count for answer, count in sorted(measurements.answers.items())},
        },
    )
    yield ResultRow(
        f"another project's boot, p99 beside quiet, {bus}",
        overloaded.p99_us / quiet.p99_us,
        LATENCY_BUDGET,
        figures={
            "boots": len(overloaded.seconds),
            "p50_ms": overloaded.p50_us / 1e3,
            "p99_ms": overloaded.p99_us / 1e3,
            "quiet_p50_ms": quiet.p50_us / 1e3,
            "quiet_p99_ms": quiet.p99_us / 1e3,
        },
    )
    yield ResultRow(
        f"memory at the end beside the middle, {bus}",
        measurements.end_kb / measurements.middle_kb,
        MEMORY_BUDGET,
        figures={"end_kb": measurements.end_kb, "middle_kb": measurements.middle_kb},
    )
    first = {"first": measurements.faults[0]} if measurements.faults else {}
    yield ResultRow(f"accepted servers not ACTIVE, {bus}", len(measurements.faults), 0, figures=first)
