# SPDX-License-Identifier: Apache-2.0
"""lab.sh overload: goodput, and another project's boots, while one project requests many times the peak."""

import argparse
import contextlib
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing

import numpy as np
import oslo_messaging as messaging

from devstack.lab.benchmark import LEAST, host_count, option
from devstack.lab.boot import RESOURCES, boot_single, faults_row, finished_servers, inactive_servers, request_boot
from devstack.lab.private_cluster import (
    BOOT_SECONDS,
    INSTANT_BOOTS,
    SCHEDULERS,
    ClusterBenchmark,
    PrivateCluster,
    booted,
)
from devstack.lab.processor_time import descendants, resident_kb
from devstack.lab.rows import ResultRow
from devstack.lab.timing import Times, record_span
from rpcapi import errors, objects
from rpcapi.admin.argument import parse_number
from rpcapi.admin.session import Session
from rpcapi.cli.command import CommandFailed

GOODPUT_BUDGET, LATENCY_BUDGET, MEMORY_BUDGET = 0.8, 10.0, 1.1
PEAK_REQUESTS, QUIET_BOOTS = 100, 30
SENDERS = 4  # threads that send the flood
FLOOD, OTHER = "flood", "other"
MEASURED_DAEMONS = ("conductor", "scheduler")
DRAIN_SECONDS = 600.0


class OverloadBenchmark(ClusterBenchmark):
    """Request servers for one project at ten times the cluster's peak rate, while another project boots single ones.

    Runs a private cluster of real processes whose guests start without delay. The peak is measured on servers that are
    all requested at once, the other project's quiet boots before them.
    """

    ARGUMENTS = (
        option("--hosts", "Service hosts of 10 nodes each", host_count, 100),
        SCHEDULERS,
        option("--batch", "Servers per request", default=20),
        option("--factor", "Requested rate relative to the peak", parse_number(float, LEAST, 100), 10.0, "F"),
        option("--seconds", "Length of the overload", parse_number(float, LEAST, 3600), 60.0, "S"),
        option("--backlog", "[conductor] max_backlog", default=5000),
        option("--building", "[conductor] max_building", default=30),
    )

    def measure_cluster(self, bus: str, args: argparse.Namespace) -> Iterator[ResultRow]:
        conductor = {"conductor": {"max_backlog": args.backlog, "max_building": args.building}}
        with booted(self.size(bus, args, args.hosts), {**INSTANT_BOOTS, "conductor": conductor}) as (cluster, _):
            yield from _measure(bus, cluster, args)


def make_rows(
    bus: str, rates: Mapping[str, float], answers: Mapping[str, int], quiet: Times, overloaded: Times
) -> Iterator[ResultRow]:
    """Yield the rows of ``rates`` in servers per second (peak, goodput, offered) and of the other project's boots."""
    figures = {f"{name}_per_s": rate for name, rate in rates.items()}
    figures |= {f"requests_{answer}": count for answer, count in sorted(answers.items())}
    ratio = rates["goodput"] / rates["peak"]
    yield ResultRow(f"goodput beside the peak, {bus}", ratio, GOODPUT_BUDGET, "at least", figures)
    yield ResultRow(
        f"another project's boot, p99 beside quiet, {bus}",
        overloaded.p99_us / quiet.p99_us,
        LATENCY_BUDGET,
        figures={"boots": len(overloaded.seconds), **overloaded.milliseconds(), **quiet.milliseconds("quiet_")},
    )


def memory_row(bus: str, middle_kb: int, end_kb: int) -> ResultRow:
    figures = {"end_kb": end_kb, "middle_kb": middle_kb}
    return ResultRow(f"memory at the end beside the middle, {bus}", end_kb / middle_kb, MEMORY_BUDGET, figures=figures)


class Flood:
    """Requests at a constant rate by threads with their own sessions, whatever the answers."""

    def __init__(self, config_file: str, batch: int, per_second: float) -> None:
        """``per_second`` is the rate of requests of all threads together."""
        self._config_file = config_file
        self._batch = batch
        self._pause = SENDERS / per_second
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._send, daemon=True) for _ in range(SENDERS)]
        self.answers: Counter[str] = Counter()
        self.accepted_uuids: list[str] = []

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _send(self) -> None:
        spec = objects.RequestSpec.of(resources=dict(RESOURCES))
        with closing(Session([self._config_file], FLOOD)) as session:
            due = time.monotonic()
            while not self._stop.wait(max(0.0, due - time.monotonic())):
                due += self._pause
                uuids = [str(uuid.uuid4()) for _ in range(self._batch)]
                session.new_request()
                try:
                    session.conductor.build_instances(session.ctxt.with_timeout(BOOT_SECONDS), spec, uuids)
                    self.answers["accepted"] += 1
                    self.accepted_uuids += uuids
                except (errors.GanttError, messaging.MessagingTimeout) as error:
                    self.answers[type(error).__name__] += 1


def _measure(bus: str, private_cluster: PrivateCluster, args: argparse.Namespace) -> Iterator[ResultRow]:
    conf = str(private_cluster.client_conf)
    with closing(Session([conf], FLOOD)) as session, closing(Session([conf], OTHER)) as other_session:
        quiet = [_time_boot(other_session) for _ in range(QUIET_BOOTS)]
        peak_uuids = [str(uuid.uuid4()) for _ in range(PEAK_REQUESTS * args.batch)]
        for start in range(0, len(peak_uuids), args.batch):
            request_boot(session, peak_uuids[start : start + args.batch])
        peak = len(peak_uuids) / record_span(finished_servers(session, peak_uuids, DRAIN_SECONDS))
        flood = Flood(conf, args.batch, args.factor * peak / args.batch)
        begin = time.time()
        flood.start()
        try:
            overloaded, memory_kb = [], []
            while time.time() < begin + args.seconds:
                overloaded.append(_time_boot(other_session))
                memory_kb.append(_resident_kb(private_cluster))
            end = time.time()
        finally:
            flood.stop()
        instances = finished_servers(session, flood.accepted_uuids, DRAIN_SECONDS)
    served = sum(1000 * begin <= instance.updated_ms < 1000 * end for instance in instances)
    rates = {
        "peak": peak,
        "goodput": (served + len(overloaded)) / (end - begin),
        "offered": sum(flood.answers.values()) * args.batch / (end - begin),
    }
    yield from make_rows(bus, rates, flood.answers, Times(np.array(quiet)), Times(np.array(overloaded)))
    yield memory_row(bus, memory_kb[len(memory_kb) // 2], memory_kb[-1])
    yield faults_row(f"accepted servers not ACTIVE, {bus}", inactive_servers(instances))


def _time_boot(session: Session) -> float:
    """Return the seconds until a single server is ACTIVE or in ERROR; a timeout counts with its full time."""
    begin = time.monotonic()
    with contextlib.suppress(CommandFailed):
        boot_single(session)
    return time.monotonic() - begin


def _resident_kb(private_cluster: PrivateCluster) -> int:
    pids = [private_cluster.daemons[name].pid for name in MEASURED_DAEMONS]
    return sum(resident_kb(process) for pid in pids if pid for process in [pid, *descendants(pid)])
