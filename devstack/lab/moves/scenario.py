# SPDX-License-Identifier: Apache-2.0
"""Phases of lab.sh moves: boots, drain, evacuation and verification."""

import argparse
import io
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from devstack import confs, exercise
from devstack.lab.boot import find_faults, finished_servers, request_boot
from devstack.lab.chaos import stored_state
from devstack.lab.chaos.final_state import GuestFile
from devstack.lab.private_cluster import scrape
from devstack.lab.timing import Times, record_span, record_times
from devstack.servers.ports import LOOPBACK
from devstack.servers.process import poll
from rpcapi import errors
from rpcapi.admin import waiting
from rpcapi.admin.session import Session
from rpcapi.cli.audit import AuditCluster
from rpcapi.cli.command import CommandFailed, machine_value
from rpcapi.cli.host_control import FenceHost
from rpcapi.cli.host_moves import DrainHost, EvacuateHost
from rpcapi.resources.names import host_of

POLL_SECONDS = 0.5
FENCE_SECONDS = AUDIT_SECONDS = 180.0
AUDIT_PAUSE = "1"  # seconds between the two readings of an audit


class LabOperator:
    """Session that runs commands of ``gantt``; returned sentences say what a command left undone."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.stderr = io.StringIO()

    def connect(self) -> Session:
        return self.session

    def drain(self, host: str, parallel: int) -> list[str]:
        return _sentences(self._execute(DrainHost, host, "--parallel", str(parallel)))

    def evacuate(self, host: str) -> list[str]:
        return _sentences(self._execute(EvacuateHost, host))

    def fence(self, host: str) -> None:
        def is_fenced() -> bool:
            try:
                self._execute(FenceHost, host, "--yes")
            except errors.HostIsUp:
                return False
            return True

        if not poll(is_fenced, FENCE_SECONDS, POLL_SECONDS):
            raise CommandFailed(f"Host {host} still counts as up after {FENCE_SECONDS:g} s")

    def audit(self) -> list[str]:
        """Return one sentence per difference that outlasts the agents' cleanup."""
        rows: list[Any] = []

        def agree() -> bool:
            rows[:] = self._execute(AuditCluster, "--pause", AUDIT_PAUSE)
            return not rows

        poll(agree, AUDIT_SECONDS, POLL_SECONDS)
        return _sentences(rows)

    def _execute(self, command: Any, *arguments: str) -> list[Any]:
        self.session.new_request()
        instance = command(self, None)
        parser: argparse.ArgumentParser = instance.get_parser("gantt")
        output = instance.take_action(parser.parse_args(list(arguments)))
        return [] if output is None else list(output[1])


def _sentences(rows: Iterable[Iterable[Any]]) -> list[str]:
    return [": ".join(str(machine_value(cell)) for cell in row) for row in rows]


COPY_RATE, DIRTY_RATE = 1000.0, 100.0  # MiB per second
DOWNTIME_SECONDS = 0.5
DOWN_SECONDS = 20.0  # high, because the machine may be slow
BOOT_SECONDS = 300.0
LOST = "lost"  # name of the daemon that serves the lost hosts
# Every server fits on every host.
CAPACITY = {"vcpus": 1024, "memory_mb": 1 << 23, "disk_gb": 100_000}
DRAIN, EVACUATION = "live-migration", "evacuation"
COMPLETED = "completed"

# Metrics of the scheduler's work: ranked requests, claims made, and verbs for one claim each.
WORK = {
    "decisions": ("gantt_scheduler_decision_seconds_count", "gantt_scheduler_batched_requests_total"),
    "claims": ("gantt_scheduler_instances_placed_total",),
    "claim_verbs": ("gantt_scheduler_claims_total",),
}


@dataclass(frozen=True, slots=True)
class MovedHosts:
    """Hosts of the run: one to drain, ``count`` to lose, and ``count`` others that take all servers."""

    count: int

    @property
    def names(self) -> list[str]:
        total = 1 + 2 * self.count
        width = len(str(total - 1))
        return [f"compute{number:0{width}d}" for number in range(total)]

    @property
    def drained(self) -> str:
        return self.names[0]

    @property
    def others(self) -> list[str]:
        return self.names[1 : 1 + self.count]

    @property
    def lost_hosts(self) -> list[str]:
        return self.names[1 + self.count :]


def count_work(page: str) -> dict[str, float]:
    """Sum the metrics of WORK in a page of Prometheus' text format; a missing metric counts 0."""
    sums: defaultdict[str, float] = defaultdict(float)
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            sums[sample.name] += sample.value
    return {name: sum(sums[metric] for metric in metrics) for name, metrics in WORK.items()}


@dataclass(frozen=True)
class PhaseTimes(Times):
    """Servers' durations by their records, the caller's time ``elapsed``, and the scheduler's work."""

    elapsed: float
    work: Mapping[str, float]

    def percentiles(self, prefix: str = "") -> dict[str, float]:
        return {f"{prefix}p50_s": self.percentile(50), f"{prefix}p99_s": self.percentile(99)} if self.calls else {}


class MovesRun:
    """Phases in a running cluster whose scheduler serves metrics at a loopback port."""

    def __init__(self, session: Session, hosts: MovedHosts, args: argparse.Namespace, metrics_port: int) -> None:
        self.session = session
        self.hosts = hosts
        self.operator = LabOperator(session)
        self.uuids: list[str] = []
        self.left: list[str] = []  # Sentences, one per server that a command could not move.
        self._args = args
        self._metrics_port = metrics_port

    def boot(self, hosts: Sequence[str]) -> PhaseTimes:
        before = self._count()
        booted_uuids: list[str] = []
        resources = {"VCPU": 1, "MEMORY_MB": self._args.memory, "DISK_GB": 1}
        for host in hosts:
            for count in request_sizes(self._args.servers, self._args.per_request):
                servers = [str(uuid.uuid4()) for _ in range(count)]
                request_boot(self.session, servers, resources=resources, force_hosts=[host])
                booted_uuids += servers
        self.uuids += booted_uuids
        records = finished_servers(self.session, booted_uuids, BOOT_SECONDS)
        # Use the records' times: the caller's polling would be a large part of its own.
        return PhaseTimes(record_times(records).seconds, record_span(records), self._work_since(before))

    def drain(self) -> PhaseTimes:
        return self._moves(DRAIN, lambda: self.operator.drain(self.hosts.drained, self._args.parallel))

    def evacuate(self) -> PhaseTimes:
        return self._moves(
            EVACUATION, lambda: [line for host in self.hosts.lost_hosts for line in self.operator.evacuate(host)]
        )

    def _moves(self, kind: str, command: Callable[[], list[str]]) -> PhaseTimes:
        before, begin = self._count(), time.monotonic()
        self.left += command()
        seconds, work = time.monotonic() - begin, self._work_since(before)
        listed = self.session.list_all(self.session.conductor.list_migrations, "migrations")
        completed = [move for move in listed if move.kind == kind and move.status == COMPLETED]
        return PhaseTimes(record_times(completed).seconds, seconds, work)

    def _count(self) -> dict[str, float]:
        return count_work(scrape(self._metrics_port).decode())

    def _work_since(self, before: Mapping[str, float]) -> Mapping[str, float]:
        return {name: count - before[name] for name, count in self._count().items()}

    def verify(self, state_folders: Sequence[Path]) -> tuple[exercise.ExerciseResult, list[str]]:
        differences = self.operator.audit()
        records = waiting.fetch_instances(self.session, self.uuids)
        result = exercise.inspect_servers(self.session, records)
        guests = [guest for folder in state_folders for guest in stored_state.read_guests(folder)]
        faults = [
            *self.left,
            *differences,
            *find_faults(result),
            *misplaced(records, self.hosts.others),
            *guest_faults(records, guests),
        ]
        if len(result.claims) != len(records):
            faults.append(f"{len(records)} servers have {len(result.claims)} claims")
        return result, faults


def request_sizes(servers: int, per_request: int) -> list[int]:
    return [min(per_request, servers - first) for first in range(0, servers, per_request)]


def misplaced(records: Sequence[Any], hosts: Sequence[str]) -> Iterator[str]:
    for record in records:
        if record.host is None or host_of(record.host) not in hosts:
            yield f"{record.uuid} is on {record.host}"


def guest_faults(records: Sequence[Any], guests: Sequence[GuestFile]) -> Iterator[str]:
    """Yield a sentence for each server unless it has exactly one guest, which runs on its recorded host."""
    guest_names: dict[str, list[str]] = {record.uuid: [] for record in records}
    for guest in guests:
        guest_names.setdefault(guest.uuid, []).append(guest.name if guest.is_running else f"{guest.name}, off")
    hosts = {record.uuid: record.host for record in records}
    for server, names in guest_names.items():
        if names != [hosts.get(server)]:
            yield f"{server} has guests on {names}; its record says {hosts.get(server)}"


def overrides(hosts: MovedHosts, metrics_port: int) -> dict[str, confs.Groups]:
    simulator = {
        "boot_delay": 0,
        "boot_delay_spread": 0,
        "shared_storage": "lab",
        "copy_rate": COPY_RATE,
        "dirty_rate": DIRTY_RATE,
        "copy_downtime": DOWNTIME_SECONDS,
    }
    metrics = {"listen": f"{LOOPBACK}:{metrics_port}"}
    compute = {"hosts": ",".join([hosts.drained, *hosts.others])}
    return {
        "scheduler": {"store": {"service_down_time": DOWN_SECONDS}, "metrics": metrics},
        "compute": {"compute": compute, "simulator": simulator, **dict.fromkeys(confs.NODE_SHAPES, CAPACITY)},
    }
