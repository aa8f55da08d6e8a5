# SPDX-License-Identifier: Apache-2.0
"""lab.sh sync: delay from a host's report to every worker's replica, and the cost of a replica."""

import argparse
import bisect
import statistics
from collections.abc import Iterator, Sequence
from contextlib import closing

import numpy as np

from devstack.lab import hosts, private_redis
from devstack.lab.benchmark import Benchmark, host_count, positive, share, up_to
from devstack.lab.rows import ResultRow
from devstack.lab.sync import load
from devstack.lab.sync.load import MINUTE, ScheduledReports
from devstack.lab.sync.scenario import SyncMeasurements, measure
from devstack.lab.sync.worker import ReplicaProgress, open_store

DELAY_BUDGET_MS, START_BUDGET_S, MEMORY_BUDGET_KB = 100.0, 2.0, 4.0
BUDGET_FROM = 10_000  # with fewer hosts a worker's fixed memory outweighs that of the hosts


minutes = up_to(24 * 60, "a number of minutes")


class SyncBenchmark(Benchmark):
    """Let hosts report each minute and measure when every worker's replica has the changes.

    Each worker is a process with a replica of its own; another process sends the reports directly into the store of one
    private redis-server (everysec). Also measures a worker's start, its memory, and how fast it catches up.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--hosts", type=host_count, default=10_000, metavar="N", help="Nodes (%(default)s).")
        parser.add_argument(
            "--nodes-per-host", type=positive, default=10, metavar="N", help="Nodes per report (%(default)s)."
        )
        parser.add_argument("--workers", type=positive, default=2, metavar="N", help="Workers (%(default)s).")
        parser.add_argument(
            "--minutes", type=minutes, default=0.5, metavar="M", help="Minutes of reports (%(default)s)."
        )
        parser.add_argument(
            "--change",
            type=share,
            default=0.1,
            metavar="SHARE",
            help="Share of the nodes that change per minute (%(default)s).",
        )
        return parser

    def measure(self, args: argparse.Namespace) -> Sequence[ResultRow]:
        nodes = load.spread(args.nodes_per_host, hosts.make_nodes(args.hosts))
        plan = ScheduledReports(args.minutes * MINUTE, args.change)
        with (
            self.bar(round(plan.seconds), "reporting", args) as bar,
            private_redis.running("everysec") as server,
            closing(open_store(server.url())) as store,
        ):
            hosts.join(store, nodes)
            return list(_rows(measure(server.url(), nodes, args.workers, plan, bar)))


def delays_ms(sent: Sequence[tuple[int, float]], progress: Sequence[ReplicaProgress]) -> np.ndarray:
    """Return for each report the milliseconds from its sending until the last worker's replica has its changes."""
    delays = []
    for position, sent_at in sent:
        moments = [worker.moments[bisect.bisect_left(worker.moments, (position, 0.0))][1] for worker in progress]
        delays.append(max(moments) - sent_at)
    return np.array(delays) * 1e3


def _rows(measurements: SyncMeasurements) -> Iterator[ResultRow]:
    has_budget = measurements.nodes >= BUDGET_FROM
    delays, bare = (
        delays_ms(measurements.reported.sent, measurements.before_pause),
        np.array(measurements.bare_delays) * 1e3,
    )
    p99 = float(np.percentile(delays, 99))
    yield ResultRow(
        "update to visible in every worker, p99 ms",
        p99,
        DELAY_BUDGET_MS,
        figures={
            "p50_ms": float(np.percentile(delays, 50)),
            "p99_ms": p99,
            "bare_p50_ms": float(np.percentile(bare, 50)),
            "bare_p99_ms": float(np.percentile(bare, 99)),
            "reports": measurements.reported.reports,
            "changed": len(measurements.reported.sent),
            "late_ms": measurements.reported.late_s * 1e3,
        },
    )
    start = statistics.median(worker_start.process_s for worker_start in measurements.starts)
    yield ResultRow(
        "a worker's start, s",
        start,
        START_BUDGET_S if has_budget else None,
        figures={
            "process_s": start,
            "processor_s": statistics.median(worker_start.processor_s for worker_start in measurements.starts),
            "load_s": statistics.median(worker_start.load_s for worker_start in measurements.starts),
            "bare_load_s": statistics.median(worker_start.bare_s for worker_start in measurements.starts),
            "hosts": measurements.nodes,
        },
    )
    yield _memory(measurements, has_budget)
    catch_up = measurements.catch_up
    yield ResultRow(
        "catching up, beside reading alone",
        catch_up.seconds / catch_up.bare_s,
        figures={
            "entries": catch_up.entries,
            "entries_per_s": catch_up.entries / catch_up.seconds,
            "bare_entries_per_s": catch_up.entries / catch_up.bare_s,
        },
    )
    different = sum(worker.digest != measurements.reference for worker in measurements.after_pause)
    yield ResultRow("replicas unlike a snapshot", different, 0, figures={"replicas": len(measurements.after_pause)})


def _memory(measurements: SyncMeasurements, has_budget: bool) -> ResultRow:
    """Return a worker's memory per host after following the log, above its memory before loading."""
    empty = statistics.median(worker.empty_kb for worker in measurements.starts)
    loaded = statistics.median(worker.loaded_kb for worker in measurements.starts)
    followed = max(worker.resident_kb for worker in measurements.after_pause)
    figures = {
        "empty_mb": empty / 1024,
        "loaded_kb_a_host": (loaded - empty) / measurements.nodes,
        "followed_kb_a_host": (followed - empty) / measurements.nodes,
    }
    return ResultRow(
        "memory of a worker, kB a host",
        figures["followed_kb_a_host"],
        MEMORY_BUDGET_KB if has_budget else None,
        figures=figures,
    )
