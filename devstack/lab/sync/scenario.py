# SPDX-License-Identifier: Apache-2.0
"""The measurement of lab.sh sync: start workers, report, pause one of them, and compare all with a snapshot."""

import json
import os
import signal
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import redis

from devstack.lab.hosts import Nodes
from devstack.lab.sync import load
from devstack.lab.sync.load import ReportTimes, ScheduledReports
from devstack.lab.sync.table import digest
from devstack.lab.sync.worker import PARTITION, ReplicaProgress, WorkerStart, open_store, worker_task
from devstack.lab.worker_processes import WorkerProcesses
from rpcapi.cli.command import CommandFailed
from scheduler_svc.replication.replica import Replica
from scheduler_svc.store.redis.keys import prefix

STARTS = 3
ROUNDS = 3  # reports per service host that the paused worker has to catch up with
WAIT_SECONDS = 120.0
READ_COUNT = 1000  # log entries per read, as in the replica


@dataclass(frozen=True, slots=True)
class CatchUpTimes:
    """How a paused worker caught up: entries, seconds, and the seconds of reading and decoding alone."""

    entries: int
    seconds: float
    bare_s: float


@dataclass(frozen=True, slots=True)
class SyncMeasurements:
    """All measured values. ``before_pause`` and ``after_pause`` have one element per worker."""

    nodes: int
    starts: Sequence[WorkerStart]
    reported: ReportTimes
    bare_delays: Sequence[float]
    before_pause: Sequence[ReplicaProgress]
    after_pause: Sequence[ReplicaProgress]
    catch_up: CatchUpTimes
    reference: str


def measure(url: str, nodes: Nodes, workers: int, plan: ScheduledReports, bar: Any) -> SyncMeasurements:
    """Measure on the store at ``url``, where all hosts are registered; ``bar`` advances by the seconds of reports."""
    starts = [_start(url) for _ in range(STARTS)]
    with (
        WorkerProcesses(workers, worker_task(url)) as followers,
        WorkerProcesses(1, load.agents_task(url, nodes)) as reporter,
        WorkerProcesses(1, load.bare_task(url)) as baseline,
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
        return worker.receive(WAIT_SECONDS)[0]


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
    with closing(open_store(url)) as store:
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
    """Return the seconds to read the log from ``position`` and decode it without applying it."""
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
    """Return the digest of a table that was loaded just now."""
    with closing(open_store(url)) as store:
        replica = Replica(store)
        replica.load()
        return digest(replica.table)
