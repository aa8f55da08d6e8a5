# SPDX-License-Identifier: Apache-2.0
"""gantt-lab decide: what does one decision cost beside a bare pass over the same columns?"""

import argparse
import itertools
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from devstack.lab import driver, furnished, hosts, requests
from devstack.lab.command import Question, host_count
from devstack.lab.rows import Row
from devstack.lab.timing import Subject, interleave
from scheduler_svc.candidates import ranking
from scheduler_svc.drivers.driver import WIDTH, Driver
from scheduler_svc.request import Request
from scheduler_svc.table.table import HostTable

BUDGET = 5.0
# With fewer hosts what a decision costs by itself outweighs the pass, and nothing is promised. Of every filter and
# weigher something is promised for just so many: with more, their columns do not fit the processor's caches.
BUDGET_FROM = 10_000
SWEEP = (1_000, 10_000, 100_000)
MIX = 64  # requests that take turns
LOTS = 20
LOT_HOSTS = 400_000  # hosts that one lot looks at: as many calls as that makes, within bounds


class Decide(Question):
    """Time one decision, default filters and weighers, against three comparisons, one masked score and a top-k."""

    pictures: ClassVar[bool] = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--hosts", type=host_count, default=10_000, metavar="N", help="Hosts in the table (%(default)s)."
        )
        parser.add_argument(
            "--sweep", action="store_true", help="Measure 1,000, 10,000 and 100,000 hosts in place of --hosts."
        )
        parser.add_argument(
            "--all-filters",
            action="store_true",
            help="Measure every filter and weigher there is, on hosts in 200 aggregates, against a default decision.",
        )
        return parser

    def measure(self, args: argparse.Namespace) -> Sequence[Row]:
        sizes = SWEEP if args.sweep else (args.hosts,)
        row = _row_of_all if args.all_filters else _row
        with self.bar((LOTS + 1) * len(sizes), "deciding", args) as bar:
            return [row(size, bar.update) for size in sizes]

    def draw(self, figure: Any, found: Sequence[Row]) -> None:
        axes = figure.subplots()
        sizes = [row.figures["hosts"] for row in found]
        for key, mark in zip(
            [key for key in found[0].figures if key != "hosts"], ("o-", "o:", "s-", "s:"), strict=True
        ):
            axes.plot(sizes, [row.figures[key] for row in found], mark, label=key.removesuffix("_us").replace("_", " "))
        axes.set(xscale="log", yscale="log", xlabel="hosts", ylabel="microseconds", title="One decision")
        axes.legend()
        axes.grid(which="both", alpha=0.3)


def _row(size: int, tick: Any) -> Row:
    table = hosts.table(size)
    taken = interleave(
        {"bare": bare(table), "decision": decision(table)},
        lots=LOTS,
        size=max(10, min(100, LOT_HOSTS // size)),
        tick=tick,
    )
    mine, floor = taken["decision"], taken["bare"]
    figures = {
        "hosts": size,
        "p50_us": mine.p50_us,
        "p99_us": mine.p99_us,
        "bare_p50_us": floor.p50_us,
        "bare_p99_us": floor.p99_us,
    }
    budget = BUDGET if size >= BUDGET_FROM else None
    return Row(f"decide {size} hosts, p50", mine.p50_us / floor.p50_us, budget, figures=figures)


def _row_of_all(size: int, tick: Any) -> Row:
    every = driver.every()
    taken = interleave(
        {
            "default": decision(hosts.table(size)),
            "all": deciding(every, furnished.table(size, every.reads), furnished.asked(MIX)),
        },
        lots=LOTS,
        size=max(10, min(100, LOT_HOSTS // size)),
        tick=tick,
    )
    mine, floor = taken["all"], taken["default"]
    figures = {
        "hosts": size,
        "p50_us": mine.p50_us,
        "p99_us": mine.p99_us,
        "default_p50_us": floor.p50_us,
        "default_p99_us": floor.p99_us,
    }
    name = f"decide {size} hosts, every filter and weigher, p50"
    return Row(name, mine.p50_us / floor.p50_us, BUDGET if size == BUDGET_FROM else None, figures=figures)


def decision(table: HostTable) -> Subject:
    """Return what is measured: a whole ranking of one instance, from taking the table to the candidates' names."""
    return deciding(driver.default(), table, [wanted.request for wanted in itertools.islice(requests.stream(3), MIX)])


def deciding(ranker: Driver, table: HostTable, asked: Sequence[Request]) -> Subject:
    """Return what such a ranking is by ``ranker``, for requests that take turns."""

    def decide(number: int) -> Any:
        with table.reading() as view:
            return ranking.rank(ranker, view, asked[number % len(asked)], 1, number)

    return decide


def bare(table: HostTable) -> Subject:
    """Return the floor: the least that any decision on these columns must do, for the same requests."""
    size = len(table.names)
    cpu, memory, disk = (table.resources[name].free[:size] for name in ("VCPU", "MEMORY_MB", "DISK_GB"))
    asked = [
        tuple(wanted.request.resources[name] for name in ("VCPU", "MEMORY_MB", "DISK_GB"))
        for wanted in itertools.islice(requests.stream(3), MIX)
    ]
    width = min(WIDTH, size)

    def look(number: int) -> Any:
        vcpus, mebibytes, gibibytes = asked[number % MIX]
        passes = (cpu >= vcpus) & (memory >= mebibytes) & (disk >= gibibytes)
        scores = np.where(passes, memory, -np.inf)
        top = np.argpartition(scores, size - width)[size - width :]
        return top[np.argsort(-scores[top])]

    return look
