# SPDX-License-Identifier: Apache-2.0
"""lab.sh boot: time from the boot request until the server is ACTIVE, through all of gantt's processes."""

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from devstack.cluster_size import ClusterSize
from devstack.lab.benchmark import Benchmark, host_count, positive
from devstack.lab.boot.scenario import BootMeasurements, BootPlan, measure
from devstack.lab.rows import ResultRow
from devstack.lab.rpc import deployment

NODES_PER_HOST = 10
ANSWER_BUDGET, ANSWER_BUDGET_CALLERS = 0.5, 64  # of requests for one server each


class BootBenchmark(Benchmark):
    """Time booting servers through conductor, scheduler and agents, from request to ACTIVE, against an empty call.

    Runs a private cluster of real processes; the simulated guests start without delay. Boots single servers first,
    alternating with echo calls, then batches of servers. ``processor_ms`` is the processor time of all processes
    but the callers' for each server of a batch. The processor time of an accepted request is measured with as many
    batches more, while the schedulers are paused. There is no time budget; servers, claims and sums must agree.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--hosts", type=host_count, default=10, metavar="N", help="Service hosts of 10 nodes each (%(default)s)."
        )
        parser.add_argument("--schedulers", type=positive, default=2, metavar="N", help="Workers (%(default)s).")
        parser.add_argument(
            "--singles", type=positive, default=40, metavar="N", help="Servers booted one by one (%(default)s)."
        )
        parser.add_argument(
            "--orders",
            type=positive,
            default=4,
            metavar="N",
            help="Batches of servers, all requested at once (%(default)s).",
        )
        parser.add_argument("--batch", type=positive, default=100, metavar="N", help="Servers per batch (%(default)s).")
        parser.add_argument(
            "--callers",
            type=positive,
            default=1,
            metavar="N",
            help="Threads that request batches, each the next one when its last was answered (%(default)s).",
        )
        deployment.add_bus_option(parser)
        return parser

    def measure(self, args: argparse.Namespace) -> Sequence[ResultRow]:
        rows: list[ResultRow] = []
        buses = deployment.buses(args.bus)
        plan = BootPlan(args.singles, args.orders, args.batch, args.callers)
        with self.bar(len(buses) * plan.servers, "booting", args) as bar:
            for bus in buses:
                size = ClusterSize(deployment.MODES[bus], args.hosts, NODES_PER_HOST, args.schedulers)
                rows += _rows(bus, plan, measure(size, plan, bar))
        return rows


def _rows(bus: str, plan: BootPlan, measurements: BootMeasurements) -> Iterator[ResultRow]:
    singles, echo = measurements.single_times, measurements.echo
    yield ResultRow(
        f"boot one by one, {bus}, beside an echo",
        singles.p50_us / echo.p50_us,
        figures={
            "p50_ms": singles.p50_us / 1e3,
            "p99_ms": singles.p99_us / 1e3,
            "echo_p50_ms": echo.p50_us / 1e3,
            "echo_p99_ms": echo.p99_us / 1e3,
        },
    )
    figures: dict[str, float | int | str] = {
        "batch": plan.batch,
        "instances_per_s": measurements.per_second,
        "processor_ms": 1e3 * measurements.processor_s,
        "p50_ms": measurements.batch_times.p50_us / 1e3,
        "p99_ms": measurements.batch_times.p99_us / 1e3,
        "echo_calls_per_s": echo.per_second,
    }
    yield ResultRow(f"boots a second, {bus}, beside echoes", measurements.per_second / echo.per_second, figures=figures)
    yield ResultRow(
        f"an echo's processor time beside an accepted request of {plan.batch}, {bus}, {plan.callers} callers",
        measurements.echo_s / measurements.answer_s,
        ANSWER_BUDGET if plan.batch == 1 and plan.callers >= ANSWER_BUDGET_CALLERS else None,
        "at least",
        figures={"answer_processor_ms": 1e3 * measurements.answer_s, "echo_processor_ms": 1e3 * measurements.echo_s},
    )
    yield ResultRow(f"boots amiss, {bus}", len(measurements.faults), 0, figures=_fault_figures(measurements))


def _fault_figures(measurements: BootMeasurements) -> dict[str, Any]:
    counts = {"servers": measurements.servers, "claims": measurements.claims}
    return counts | ({"first": measurements.faults[0]} if measurements.faults else {})
