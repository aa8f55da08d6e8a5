# SPDX-License-Identifier: Apache-2.0
"""The measurement of lab.sh moves: a drain, then hosts that are killed, fenced and evacuated, then verification."""

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from devstack import confs, exercise
from devstack.cluster_size import ClusterSize
from devstack.lab.boot.scenario import DAEMONS, READY_SECONDS, find_faults
from devstack.lab.chaos import agent_files
from devstack.lab.chaos.final_state import GuestFile
from devstack.lab.moves import counters
from devstack.lab.moves.counters import SchedulerCounts
from devstack.lab.moves.operator import LabOperator
from devstack.lab.moves.plan import COPY_RATE, DIRTY_RATE, DOWNTIME_SECONDS, MovesPlan
from devstack.lab.rpc import deployment
from devstack.lab.timing import Times
from devstack.servers.ports import LOOPBACK, free_port
from rpcapi import objects
from rpcapi.admin import waiting
from rpcapi.admin.session import Session
from rpcapi.resources.names import host_of

PHASES = 5
DOWN_SECONDS = 20.0  # not sooner, because the machine may be slow
BOOT_SECONDS = 300.0
LOST = "lost"  # the daemon of the hosts that are lost
# Every server fits on every host.
CAPACITY = {"vcpus": 1024, "memory_mb": 1 << 23, "disk_gb": 100_000}
DRAIN, EVACUATION = "live-migration", "evacuation"  # kinds of migrations
COMPLETED = "completed"


@dataclass(frozen=True, slots=True)
class PhaseTimes:
    """``seconds`` of the phase as its caller sees it, ``durations`` by the records, and the scheduler's work."""

    seconds: float
    durations: Times
    work: SchedulerCounts


@dataclass(frozen=True, slots=True)
class MovesMeasurements:
    """The phases, and one sentence for each fault. ``boots`` are those of the servers that are evacuated later."""

    drain: PhaseTimes
    boots: PhaseTimes
    evacuation: PhaseTimes
    servers: int
    claims: int
    faults: Sequence[str]


class MovesRun:
    """Executes the phases in a running cluster, whose scheduler serves metrics at ``metrics``."""

    def __init__(self, session: Session, plan: MovesPlan, metrics: str) -> None:
        self.session = session
        self.plan = plan
        self.operator = LabOperator(session)
        self.uuids: list[str] = []
        self.left: list[str] = []  # one sentence for each server that a command could not move
        self._metrics = metrics

    def boot(self, hosts: Sequence[str]) -> PhaseTimes:
        """Boot the servers of these hosts, in requests for one host each, and wait for them."""
        before = counters.read(self._metrics)
        booted: list[str] = []
        resources = {"VCPU": 1, "MEMORY_MB": self.plan.memory, "DISK_GB": 1}
        for host in hosts:
            spec = objects.RequestSpec.of(resources=resources, force_hosts=[host])
            for count in self.plan.requests:
                servers = [str(uuid.uuid4()) for _ in range(count)]
                self.session.new_request()
                self.session.call(self.session.conductor.build_instances, spec, servers)
                booted += servers
        self.uuids += booted
        waiting.wait_for_status(self.session, booted, exercise.FINAL_STATUSES, BOOT_SECONDS, tqdm(disable=True))
        records = waiting.fetch_instances(self.session, booted)
        # By the records: the caller's pauses would be a large part of the time.
        return PhaseTimes(_span(records), _times(records), counters.read(self._metrics).since(before))

    def drain(self) -> PhaseTimes:
        """Drain the host that is to be drained."""
        return self._moves(DRAIN, lambda: self.operator.drain(self.plan.drained_host, self.plan.parallel))

    def evacuate(self) -> PhaseTimes:
        """Evacuate the lost hosts, which are fenced, one after the other."""
        return self._moves(
            EVACUATION, lambda: [line for host in self.plan.lost_hosts for line in self.operator.evacuate(host)]
        )

    def _moves(self, kind: str, command: Callable[[], list[str]]) -> PhaseTimes:
        before, begin = counters.read(self._metrics), time.monotonic()
        self.left += command()
        seconds = time.monotonic() - begin
        work = counters.read(self._metrics).since(before)
        return PhaseTimes(seconds, _times([move for move in self._migrations(kind) if move.status == COMPLETED]), work)

    def _migrations(self, kind: str) -> list[Any]:
        listed = self.session.list_all(self.session.conductor.list_migrations, "migrations")
        return [move for move in listed if move.kind == kind]

    def verify(self, state_folders: Sequence[Path]) -> tuple[exercise.ExerciseResult, list[str]]:
        """Return the servers with their claims, and one sentence for each fault; the agents have these folders."""
        differences = self.operator.audit()
        records = waiting.fetch_instances(self.session, self.uuids)
        result = exercise.inspect_servers(self.session, records)
        guests = [guest for folder in state_folders for guest in agent_files.read_guests(folder)]
        faults = [
            *self.left,
            *differences,
            *find_faults(result),
            *misplaced(records, self.plan.other_hosts),
            *guest_faults(records, guests),
        ]
        if len(result.claims) != len(records):
            faults.append(f"{len(records)} servers have {len(result.claims)} claims")
        return result, faults


def misplaced(records: Sequence[Any], hosts: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each server that is on none of the hosts."""
    for record in records:
        if record.host is None or host_of(record.host) not in hosts:
            yield f"{record.uuid} is on {record.host}"


def guest_faults(records: Sequence[Any], guests: Sequence[GuestFile]) -> Iterator[str]:
    """Yield a sentence for each server that does not run exactly once, where its record says, and for other guests."""
    places: dict[str, list[str]] = {record.uuid: [] for record in records}
    for guest in guests:
        places.setdefault(guest.uuid, []).append(guest.name if guest.is_running else f"{guest.name}, off")
    hosts = {record.uuid: record.host for record in records}
    for server, names in places.items():
        if names != [hosts.get(server)]:
            yield f"{server} has guests on {names}; its record says {hosts.get(server)}"


def overrides(plan: MovesPlan, metrics: str) -> dict[str, confs.Groups]:
    """Return the options of the daemons; the scheduler serves its metrics at the address ``metrics``."""
    simulator = {
        "boot_delay": 0,
        "boot_delay_spread": 0,
        "shared_storage": "lab",
        "copy_rate": COPY_RATE,
        "dirty_rate": DIRTY_RATE,
        "copy_downtime": DOWNTIME_SECONDS,
    }
    hosts = {"hosts": ",".join([plan.drained_host, *plan.other_hosts])}
    return {
        "scheduler": {"store": {"service_down_time": DOWN_SECONDS}, "metrics": {"listen": metrics}},
        "compute": {"compute": hosts, "simulator": simulator, **dict.fromkeys(_shapes(), CAPACITY)},
    }


def _shapes() -> list[str]:
    return [group for group in confs.NODE_SHAPES if group.startswith("shape:")]


def measure(size: ClusterSize, plan: MovesPlan, bar: Any) -> MovesMeasurements:
    """Measure on a cluster of this size, a node for each host; ``bar`` advances by one per phase.

    Raises ServerError, TimeoutError, CommandFailed.
    """
    metrics = f"{LOOPBACK}:{free_port()}"
    with (
        deployment.running(size, overrides=overrides(plan, metrics)) as private_cluster,
        closing(Session([str(private_cluster.cluster.client_conf)])) as session,
    ):
        for name in DAEMONS:
            private_cluster.start_daemon(name)
        run = MovesRun(session, plan, metrics)
        _wait_for_hosts(session, 1 + plan.hosts)
        run.boot([plan.drained_host])
        drain = run.drain()
        bar.update(1)
        # Only now, so that no server of the drained host is on a host that is lost.
        private_cluster.start_agent(LOST, plan.lost_hosts)
        _wait_for_hosts(session, len(plan.names))
        boots = run.boot(plan.lost_hosts)
        bar.update(1)
        private_cluster.kill_agent(LOST)
        for host in plan.lost_hosts:
            run.operator.fence(host)
        bar.update(1)
        evacuation = run.evacuate()
        bar.update(1)
        # The agent returns with all its guests, which it is to remove.
        private_cluster.start_agent(LOST, plan.lost_hosts)
        _wait_for_hosts(session, len(plan.names))
        state = private_cluster.cluster.layout.state
        result, faults = run.verify([state / "compute", state / LOST])
        bar.update(1)
    return MovesMeasurements(drain, boots, evacuation, len(result.instances), len(result.claims), faults)


def _wait_for_hosts(session: Session, hosts: int) -> None:
    exercise.wait_for_nodes(session, hosts, READY_SECONDS, lambda ready_nodes: None)


def _times(records: Sequence[Any]) -> Times:
    """Return how long each record took from its begin to its last change."""
    return Times(np.array([(record.updated_ms - record.created_ms) / 1e3 for record in records]))


def _span(records: Sequence[Any]) -> float:
    """Return the seconds from the first begin to the last change, at least a millisecond."""
    begin = min(record.created_ms for record in records)
    return max(1, max(record.updated_ms for record in records) - begin) / 1e3
