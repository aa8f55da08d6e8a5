# SPDX-License-Identifier: Apache-2.0
"""gantt-lab boot: what does a server take from the order until it runs, through all of gantt's processes?"""

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from devstack.cluster import Shape
from devstack.lab import rpc_site
from devstack.lab.boot_course import Findings, Plan, measure
from devstack.lab.command import Question, host_count, positive
from devstack.lab.rows import Row

NODES_PER_HOST = 10


class Boot(Question):
    """Boot servers through conductor, scheduler and agents, from the order to ACTIVE, beside an empty call.

    A whole private cluster of real processes; the simulated guests start without delay. First one server at a time,
    taking turns with the echo, then many an order. Nothing is promised; servers, claims and sums must agree.
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
            "--orders", type=positive, default=4, metavar="N", help="Large orders, all given at once (%(default)s)."
        )
        parser.add_argument(
            "--batch", type=positive, default=100, metavar="N", help="Servers of a large order (%(default)s)."
        )
        parser.add_argument(
            "--bus", choices=[*rpc_site.MODES, "both"], default="embedded", help="Which bus (%(default)s)."
        )
        return parser

    def measure(self, args: argparse.Namespace) -> Sequence[Row]:
        found: list[Row] = []
        buses = rpc_site.buses(args.bus)
        plan = Plan(args.singles, args.orders, args.batch)
        with self.bar(len(buses) * plan.servers, "booting", args) as bar:
            for bus in buses:
                shape = Shape(rpc_site.MODES[bus], args.hosts, NODES_PER_HOST, args.schedulers)
                found += _rows(bus, plan, measure(shape, plan, bar))
        return found


def _rows(bus: str, plan: Plan, found: Findings) -> Iterator[Row]:
    singles, echo = found.singles, found.echo
    yield Row(
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
        "instances_per_s": found.per_second,
        "p50_ms": found.crowd.p50_us / 1e3,
        "p99_ms": found.crowd.p99_us / 1e3,
        "echo_calls_per_s": echo.per_second,
    }
    yield Row(f"boots a second, {bus}, beside echoes", found.per_second / echo.per_second, figures=figures)
    yield Row(f"boots amiss, {bus}", len(found.amiss), 0, figures=_amiss(found))


def _amiss(found: Findings) -> dict[str, Any]:
    counted = {"servers": found.servers, "claims": found.claims}
    return counted | ({"first": found.amiss[0]} if found.amiss else {})
