# SPDX-License-Identifier: Apache-2.0
"""lab.sh decide: cost of one scheduling decision against a bare pass over the same columns."""

import argparse
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from devstack.lab import default_driver, full_hosts, hosts
from devstack.lab.benchmark import Benchmark, flag, host_count, option
from devstack.lab.rows import ResultRow
from devstack.lab.timing import TimedSubject, interleave
from scheduler_svc.composition import malloc_tuning
from scheduler_svc.core.drivers.driver import MAX_CANDIDATES, Driver
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.core.trees import ranking

BUDGET = 5.0
# With fewer hosts a decision's fixed cost outweighs the pass. With every filter and weigher the budget holds at exactly
# this size: the columns of more hosts do not fit the processor's caches.
BUDGET_FROM = 10_000
SWEEP = (1_000, 10_000, 100_000)
MIX = 64  # requests, used cyclically
BLOCKS = 20
BLOCK_HOSTS = 400_000  # hosts checked per block; determines the number of calls, within limits


class DecideBenchmark(Benchmark):
    """Time one decision with default filters and weighers against three comparisons, a masked score and a top-k."""

    can_plot: ClassVar[bool] = True

    ARGUMENTS = (
        option("--hosts", "Hosts in the table", host_count, 10_000),
        flag("--sweep", "Measure 1,000, 10,000 and 100,000 hosts instead of --hosts."),
        flag("--all-filters", "All filters and weighers, on hosts in 200 aggregates, against a default decision."),
    )

    def measure(self, args: argparse.Namespace) -> Iterator[ResultRow]:
        sizes = SWEEP if args.sweep else (args.hosts,)
        malloc_tuning.keep_freed_memory()  # Scheduler workers do the same.
        yield from map(_row_of_all if args.all_filters else _row, sizes)

    def draw(self, figure: Any, rows: Sequence[ResultRow]) -> None:
        axes = figure.subplots()
        sizes = [row.figures["hosts"] for row in rows]
        for key, marker in zip(
            [key for key in rows[0].figures if key != "hosts"], ("o-", "o:", "s-", "s:"), strict=True
        ):
            axes.plot(
                sizes, [row.figures[key] for row in rows], marker, label=key.removesuffix("_us").replace("_", " ")
            )
        axes.set(xscale="log", yscale="log", xlabel="hosts", ylabel="microseconds", title="One decision")
        axes.legend()
        axes.grid(which="both", alpha=0.3)


def _row(size: int) -> ResultRow:
    table = hosts.table(size)
    subjects = {"bare": bare_subject(table), "decision": decision_subject(table)}
    return _compare(f"decide {size} hosts, p50", size, subjects)


def _row_of_all(size: int) -> ResultRow:
    ranker = default_driver.all_filters()
    table, requests = full_hosts.table(size, ranker.reads), full_hosts.make_requests(MIX)
    subjects = {
        "default": decision_subject(hosts.table(size)),
        "all": ranking_subject(ranker, table, requests),
    }
    return _compare(f"decide {size} hosts, every filter and weigher, p50", size, subjects)


def _compare(name: str, size: int, subjects: Mapping[str, TimedSubject]) -> ResultRow:
    calls = max(10, min(100, BLOCK_HOSTS // size))
    times = interleave(subjects, blocks=BLOCKS, size=calls)
    (baseline_name, baseline), (_, measured) = times.items()
    figures = {"hosts": size, **measured.microseconds(), **baseline.microseconds(f"{baseline_name}_")}
    budget = BUDGET if size >= BUDGET_FROM else None
    return ResultRow(name, measured.p50_us / baseline.p50_us, budget, figures=figures)


def decision_subject(table: HostTable) -> TimedSubject:
    return ranking_subject(
        default_driver.default(), table, [server.request for server in itertools.islice(hosts.stream(3), MIX)]
    )


def ranking_subject(ranker: Driver, table: HostTable, requests: Sequence[SchedulingRequest]) -> TimedSubject:
    def decide(number: int) -> Any:
        with table.reading() as view:
            return ranking.rank(ranker, view, requests[number % len(requests)], 1, number)

    return decide


def bare_subject(table: HostTable) -> TimedSubject:
    """Return the baseline: the least work of any decision on these columns, for the same requests."""
    size = len(table.names)
    cpu, memory, disk = (table.resources[name].free[:size] for name in ("VCPU", "MEMORY_MB", "DISK_GB"))
    amounts = [
        tuple(server.request.resources[name] for name in ("VCPU", "MEMORY_MB", "DISK_GB"))
        for server in itertools.islice(hosts.stream(3), MIX)
    ]
    width = min(MAX_CANDIDATES, size)

    def rank_bare(number: int) -> Any:
        vcpus, mebibytes, gibibytes = amounts[number % MIX]
        passes = (cpu >= vcpus) & (memory >= mebibytes) & (disk >= gibibytes)
        scores = np.where(passes, memory, -np.inf)
        top = np.argpartition(scores, size - width)[size - width :]
        return top[np.argsort(-scores[top])]

    return rank_bare
