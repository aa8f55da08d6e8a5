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
from dataclasses import dataclass
from typing import Any

import numpy as np
import redis

from devstack.lab import hosts, private_servers
from devstack.lab.benchmark import Benchmark, host_count, option, share, up_to
from devstack.lab.hosts import Nodes
from devstack.lab.rows import ResultRow
from devstack.lab.sync import load
from devstack.lab.sync.load import MINUTE, ReportTimes, ScheduledReports
from devstack.lab.sync.worker import PARTITION, ReplicaProgress, WorkerStart, digest, open_store, worker_task
from devstack.lab.timing import Times
from devstack.lab.worker_processes import WorkerProcesses
from rpcapi.cli.command import CommandFailed
from scheduler_svc.replication.replica import Replica
from scheduler_svc.store.redis.keys import prefix

STARTS = 3
ROUNDS = 3  # reports per service host that the paused worker has to catch up with
WAIT_SECONDS = 120.0
READ_COUNT = 1000  # log entries per read, as in the replica

DELAY_BUDGET_MS, START_BUDGET_S, MEMORY_BUDGET_KB = 100.0, 2.0, 4.0
BUDGET_FROM = 10_000  # with fewer hosts a worker's fixed memory outweighs that of the hosts
minutes = up_to(24 * 60, "a number of minutes")


@dataclass(frozen=True, slots=True)
class CatchUpTimes:
    """Entries and seconds of a paused worker's catch-up, and the seconds of reading and decoding alone."""

    entries: int
    seconds: float
    bare_s: float


@dataclass(frozen=True, slots=True)
class SyncMeasurements:
    """``before_pause`` and ``after_pause`` have one element per worker."""

    nodes: int
    starts: Sequence[WorkerStart]
    reported: ReportTimes
    bare_delays: Sequence[float]
    before_pause: Sequence[ReplicaProgress]
    after_pause: Sequence[ReplicaProgress]
    catch_up: CatchUpTimes
    reference: str


def measure_replicas(url: str, nodes: Nodes, workers: int, plan: ScheduledReports, bar: Any) -> SyncMeasurements:
    """Measure on the store at ``url``, where all hosts are registered; ``bar`` advances by the seconds of reports."""
    starts = [_start(url) for _ in range(STARTS)]
    with (
        WorkerProcesses(workers, worker_task(url)) as followers,
        WorkerProcesses(1, functools.partial(load.send_reports, url, nodes)) as reporter,
        WorkerProcesses(1, functools.partial(load.follow_bare, url)) as baseline,
    ):
        started = followers.receive(WAIT_SECONDS)
        baseline.receive(WAIT_SECONDS)
        reported = _report(reporter, plan, bar)
        before_pause = _ask(followers, workers, reported.position)
        baseline.send([None])
        (delays,) = baseline.receive(WAIT_SECONDS)
        catch_up, after_pause = _pause(url, followers, [start.pid for start in started], reporter)
    return SyncMeasurements(len(nodes), starts, reported, delays, before_pause, after_pause, catch_up, _reference(url))


def _start(url: str) -> WorkerStart:
    with WorkerProcesses(1, worker_task(url, measure_baseline=True)) as worker:
        start: WorkerStart = worker.receive(WAIT_SECONDS)[0]
        return start


def _report(reporter: WorkerProcesses, plan: ScheduledReports, bar: Any) -> ReportTimes:
    began, shown = time.monotonic(), 0

    def watch() -> None:
        nonlocal shown
        now = min(round(time.monotonic() - began), round(plan.seconds))
        bar.update(now - shown)
        shown = now

    reporter.send([plan])
    result: ReportTimes = reporter.receive(plan.seconds + WAIT_SECONDS, watch)[0]
    if not result.sent:
        raise CommandFailed(f"None of {result.reports} reports changed anything: choose more --minutes or --change")
    return result


def _ask(followers: WorkerProcesses, workers: int, position: int) -> list[ReplicaProgress]:
    followers.send([position] * workers)
    return followers.receive(WAIT_SECONDS)


def _pause(
    url: str, followers: WorkerProcesses, pids: Sequence[int], reporter: WorkerProcesses
) -> tuple[CatchUpTimes, list[ReplicaProgress]]:
    """Pause the first worker while all hosts report changes, and resume it."""
    with open_store(url) as store:
        before = store.snapshot().position
    os.kill(pids[0], signal.SIGSTOP)  # if the lab ends here, SIGKILL ends the paused worker too
    for _ in range(ROUNDS):
        reporter.send([ScheduledReports(0, load.ALL)])
        (reported,) = reporter.receive(WAIT_SECONDS)
    resumed = time.monotonic()
    os.kill(pids[0], signal.SIGCONT)
    progress = _ask(followers, len(pids), reported.position)
    reached_at = next(moment for position, moment in progress[0].moments if position >= reported.position)
    return CatchUpTimes(reported.position - before, reached_at - resumed, _bare_read(url, before)), progress


def _bare_read(url: str, position: int) -> float:
    """Return the seconds to read and decode the log from ``position``."""
    began = time.monotonic()
    with redis.Redis.from_url(url, decode_responses=True) as client:
        key = prefix(PARTITION) + "log"
        while batches := client.xread({key: f"{position}-0"}, count=READ_COUNT):
            entries: Any = batches[0][1]
            for _entry, fields in entries:
                json.loads(fields["body"])
            position = int(entries[-1][0].partition("-")[0])
    return time.monotonic() - began


def _reference(url: str) -> str:
    with open_store(url) as store:
        replica = Replica(store)
        replica.load()
        return digest(replica.table)


class SyncBenchmark(Benchmark):
    """Let hosts report each minute and measure when every worker's replica has the changes.

    Each worker is a process with a replica of its own; another process sends the reports directly into the store of one
    private redis-server (everysec). Also measures a worker's start, its memory, and how fast it catches up.
    """

    ARGUMENTS = (
        option("--hosts", "Nodes", host_count, 10_000),
        option("--nodes-per-host", "Nodes per report", default=10),
        option("--workers", "Workers", default=2),
        option("--minutes", "Minutes of reports", minutes, 0.5, metavar="M"),
        option("--change", "Share of the nodes that change per minute", share, 0.1, metavar="SHARE"),
    )

    def measure(self, args: argparse.Namespace) -> Sequence[ResultRow]:
        nodes = load.spread(args.nodes_per_host, hosts.make_nodes(args.hosts))
        plan = ScheduledReports(args.minutes * MINUTE, args.change)
        with (
            self.bar(round(plan.seconds), "reporting", args) as bar,
            private_servers.running_redis("everysec") as server,
            open_store(server.url()) as store,
        ):
            hosts.join(store, nodes)
            return list(_rows(measure_replicas(server.url(), nodes, args.workers, plan, bar)))


def report_delays(sent: Sequence[tuple[int, float]], progress: Sequence[ReplicaProgress]) -> Times:
    """Return the time from each report until the last worker's replica has its changes."""
    delays = []
    for position, sent_at in sent:
        moments = [worker.moments[bisect.bisect_left(worker.moments, (position, 0.0))][1] for worker in progress]
        delays.append(max(moments) - sent_at)
    return Times(np.array(delays))


def _rows(measurements: SyncMeasurements) -> Iterator[ResultRow]:
    has_budget = measurements.nodes >= BUDGET_FROM
    delays = report_delays(measurements.reported.sent, measurements.before_pause)
    yield ResultRow(
        "update to visible in every worker, p99 ms",
        delays.p99_us / 1e3,
        DELAY_BUDGET_MS,
        figures={
            **delays.milliseconds(),
            **Times(np.array(measurements.bare_delays)).milliseconds("bare_"),
            "reports": measurements.reported.reports,
            "changed": len(measurements.reported.sent),
            "late_ms": measurements.reported.late_s * 1e3,
        },
    )

    def median(name: str) -> float:
        return float(statistics.median(getattr(start, name) for start in measurements.starts))

    yield ResultRow(
        "a worker's start, s",
        median("process_s"),
        START_BUDGET_S if has_budget else None,
        figures={
            **{name: median(name) for name in ("process_s", "processor_s", "load_s", "bare_load_s")},
            "hosts": measurements.nodes,
        },
    )
    # A worker's memory per host after following the log, above its memory before loading.
    empty, followed = median("empty_kb"), max(worker.resident_kb for worker in measurements.after_pause)
    memory = {
        "empty_mb": empty / 1024,
        "loaded_kb_a_host": (median("loaded_kb") - empty) / measurements.nodes,
        "followed_kb_a_host": (followed - empty) / measurements.nodes,
    }
    yield ResultRow(
        "memory of a worker, kB a host",
        memory["followed_kb_a_host"],
        MEMORY_BUDGET_KB if has_budget else None,
        figures=memory,
    )
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
