# SPDX-License-Identifier: Apache-2.0
"""lab.sh sync: delay from a host's report to every worker's replica, and the cost of a replica."""

import argparse
import bisect
import functools
import json
import os
import signal
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import redis

from devstack.lab import hosts, private_servers
from devstack.lab.benchmark import LEAST, Benchmark, host_count, option, share
from devstack.lab.rows import ResultRow
from devstack.lab.sync import load
from devstack.lab.sync.load import MINUTE, ReportTimes, ScheduledReports
from devstack.lab.sync.worker import PARTITION, ReplicaProgress, WorkerStart, digest, open_store, worker_task
from devstack.lab.timing import Times
from devstack.lab.worker_processes import WorkerProcesses
from rpcapi.admin.argument import parse_number
from rpcapi.cli.command import CommandFailed
from scheduler_svc.replication.replica import Replica
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.store.redis.keys import prefix

STARTS = 3
ROUNDS = 3  # reports per service host that the paused worker must catch up with
WAIT_SECONDS = 120.0
READ_COUNT = 1000  # log entries per read, as in the replica

DELAY_BUDGET_MS, START_BUDGET_S, MEMORY_BUDGET_KB = 100.0, 2.0, 4.0
BUDGET_FROM = 10_000  # Below this number of hosts, a worker's fixed memory dominates.
minutes = parse_number(float, LEAST, 24 * 60)


class SyncBenchmark(Benchmark):
    """Let hosts report each minute, and measure when every worker's replica has the changes.

    Each worker is a process with its own replica; a different process sends the reports directly to the store, one
    private redis-server (everysec). Also measures a worker's start, its memory and its speed in catching up.
    """

    ARGUMENTS = (
        option("--hosts", "Nodes", host_count, 10_000),
        option("--nodes-per-host", "Nodes per report", default=10),
        option("--workers", "Workers", default=2),
        option("--minutes", "Minutes of reports", minutes, 0.5, metavar="M"),
        option("--change", "Share of the nodes that change per minute", share, 0.1, metavar="SHARE"),
    )

    def measure(self, args: argparse.Namespace) -> Iterator[ResultRow]:
        nodes = load.spread(args.nodes_per_host, hosts.make_nodes(args.hosts))
        with private_servers.running_redis("everysec") as server, open_store(server.url()) as store:
            hosts.join(store, nodes)
            url, has_budget = server.url(), args.hosts >= BUDGET_FROM
            starts = _median_start(url)
            figures = {name: starts[name] for name in ("process_s", "processor_s", "load_s", "bare_load_s")}
            budget = START_BUDGET_S if has_budget else None
            yield ResultRow(
                "a worker's start, s", starts["process_s"], budget, figures={**figures, "hosts": args.hosts}
            )
            with (
                WorkerProcesses(args.workers, worker_task(url)) as followers,
                WorkerProcesses(1, functools.partial(load.send_reports, url, nodes)) as reporter,
                WorkerProcesses(1, functools.partial(load.follow_bare, url)) as baseline,
            ):
                pids = [start.pid for start in followers.receive(WAIT_SECONDS)]
                baseline.receive(WAIT_SECONDS)
                reported = _report(reporter, ScheduledReports(args.minutes * MINUTE, args.change))
                yield _delay_row(reported, _ask(followers, len(pids), reported.position), baseline)
                row, progress = _pause(store, url, followers, pids, reporter)
                yield row
            yield _memory_row(starts, max(worker.resident_kb for worker in progress), args.hosts, has_budget)
            replica = Replica(store)
            replica.load()
            different = sum(worker.digest != digest(replica.table) for worker in progress)
            yield ResultRow("replicas unlike a snapshot", different, 0, figures={"replicas": len(progress)})


def _median_start(url: str) -> dict[str, float]:
    starts: list[WorkerStart] = []
    for _ in range(STARTS):
        with WorkerProcesses(1, worker_task(url, measure_baseline=True)) as worker:
            starts += worker.receive(WAIT_SECONDS)
    return {name: statistics.median(getattr(start, name) for start in starts) for name in WorkerStart.__slots__}


def _report(reporter: WorkerProcesses, plan: ScheduledReports) -> ReportTimes:
    reporter.send([plan])
    result: ReportTimes = reporter.receive(plan.seconds + WAIT_SECONDS)[0]
    if not result.sent:
        raise CommandFailed(f"None of {result.reports} reports changed anything: choose more --minutes or --change")
    return result


def _ask(followers: WorkerProcesses, workers: int, position: int) -> list[ReplicaProgress]:
    followers.send([position] * workers)
    return followers.receive(WAIT_SECONDS)


def _delay_row(reported: ReportTimes, progress: Sequence[ReplicaProgress], baseline: WorkerProcesses) -> ResultRow:
    baseline.send([None])
    (bare_delays,) = baseline.receive(WAIT_SECONDS)
    delays = report_delays(reported.sent, progress)
    figures = {
        **delays.milliseconds(),
        **Times(np.array(bare_delays)).milliseconds("bare_"),
        "reports": reported.reports,
        "changed": len(reported.sent),
        "late_ms": reported.late_s * 1e3,
    }
    name = "update to visible in every worker, p99 ms"
    return ResultRow(name, delays.p99_us / 1e3, DELAY_BUDGET_MS, figures=figures)


def report_delays(sent: Sequence[tuple[int, float]], progress: Sequence[ReplicaProgress]) -> Times:
    """Return the time from each report until the last worker's replica has its changes."""
    delays = []
    for position, sent_at in sent:
        moments = [worker.moments[bisect.bisect_left(worker.moments, (position, 0.0))][1] for worker in progress]
        delays.append(max(moments) - sent_at)
    return Times(np.array(delays))


def _pause(
    store: RedisStore, url: str, followers: WorkerProcesses, pids: Sequence[int], reporter: WorkerProcesses
) -> tuple[ResultRow, list[ReplicaProgress]]:
    """Pause the first worker while all hosts report changes, then resume it; return its row and all progress."""
    before = store.snapshot().position
    os.kill(pids[0], signal.SIGSTOP)  # if the lab ends here, SIGKILL also ends the paused worker
    for _ in range(ROUNDS):
        reporter.send([ScheduledReports(0, load.ALL)])
        (reported,) = reporter.receive(WAIT_SECONDS)
    resumed = time.monotonic()
    os.kill(pids[0], signal.SIGCONT)
    progress = _ask(followers, len(pids), reported.position)
    reached_at = next(moment for position, moment in progress[0].moments if position >= reported.position)
    seconds, bare_s, entries = reached_at - resumed, _bare_read(url, before), reported.position - before
    figures = {"entries": entries, "entries_per_s": entries / seconds, "bare_entries_per_s": entries / bare_s}
    return ResultRow("catching up, beside reading alone", seconds / bare_s, figures=figures), progress


def _bare_read(url: str, position: int) -> float:
    began = time.monotonic()
    with redis.Redis.from_url(url, decode_responses=True) as client:
        key = prefix(PARTITION) + "log"
        while batches := client.xread({key: f"{position}-0"}, count=READ_COUNT):
            entries: Any = batches[0][1]
            for _entry, fields in entries:
                json.loads(fields["body"])
            position = int(entries[-1][0].partition("-")[0])
    return time.monotonic() - began


def _memory_row(starts: dict[str, float], followed_kb: int, nodes: int, has_budget: bool) -> ResultRow:
    """Return a worker's memory per host after following the log, above its memory before loading."""
    empty = starts["empty_kb"]
    figures = {
        "empty_mb": empty / 1024,
        "loaded_kb_a_host": (starts["loaded_kb"] - empty) / nodes,
        "followed_kb_a_host": (followed_kb - empty) / nodes,
    }
    budget = MEMORY_BUDGET_KB if has_budget else None
    return ResultRow("memory of a worker, kB a host", figures["followed_kb_a_host"], budget, figures=figures)
