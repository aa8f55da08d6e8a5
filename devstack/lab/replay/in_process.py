# SPDX-License-Identifier: Apache-2.0
"""Placement in this process: a worker's scheduler and replica on a store, without bus, conductor and agents."""

import contextlib
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence

from devstack.lab import hosts, partitions, private_servers
from devstack.lab.replay.arrivals import ReplayRequest
from devstack.lab.replay.policies import ReplayPolicy
from devstack.lab.replay.scenario import AssignedHosts, OnRefusal, PlacedServer
from rpcapi import context, errors
from rpcapi.resources.names import host_of
from scheduler_svc.core.drivers.driver import Driver
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.replication.replica import Replica
from scheduler_svc.scheduling.calls import SelectionCall, ServedCall
from scheduler_svc.scheduling.partition_scheduler import PartitionScheduler, SchedulingLimits
from scheduler_svc.scheduling.ranking import SchedulingPolicy
from scheduler_svc.store.interface import Store
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.validation import MAX_REFS

PARTITION = "replay"
LONG_MS = 86_400_000  # no claim expires and no host counts as down during the replay
TOMBSTONE_MS = 1_000  # short, because no call is repeated
LOG_LENGTH = 5_000  # few entries, because the memory backend scans all of them on each read
DECISION_BYTES = 1 << 20  # few, because nobody reads decisions
BATCH = 100
REAP_EVERY = 400  # departures, fewer than one reaping pass handles


class InProcessPlacer:
    """Single worker that selects, claims and immediately confirms, without agents."""

    def __init__(self, store: Store, replica: Replica, driver: Driver, follows_in_thread: bool) -> None:
        self.store = store
        self.seconds = 0.0
        self._replica = replica
        self._follows = follows_in_thread
        self._policy = SchedulingPolicy(driver)
        self._scheduler = PartitionScheduler(store, replica, SchedulingLimits(ttl_ms=LONG_MS))
        self._batch = BATCH if driver.batches(SchedulingRequest("look", {})) else 1
        self._unreaped = 0

    def place(self, requests: Sequence[ReplayRequest], on_refusal: OnRefusal) -> list[AssignedHosts]:
        assignments: list[AssignedHosts] = []
        for start in range(0, len(requests), self._batch):
            chunk = requests[start : start + self._batch]
            began = time.perf_counter()
            chunk_assignments = self._place(chunk)
            self.seconds += time.perf_counter() - began
            for request, assigned_hosts in zip(chunk, chunk_assignments, strict=True):
                if assigned_hosts is None:
                    on_refusal(request)
            assignments += chunk_assignments
        return assignments

    def leave(self, leaving: Sequence[PlacedServer]) -> None:
        for host, refs in _by_service_host((server.member.consumer, server.host) for server in leaving):
            self.store.release(host, refs)
        self._unreaped += len(leaving)
        while self._unreaped >= REAP_EVERY:
            self.store.reap(dead_after_ms=LONG_MS, tombstone_ms=TOMBSTONE_MS)
            self._unreaped -= REAP_EVERY
        if not self._follows:
            self._catch_up()

    def _place(self, requests: Sequence[ReplayRequest]) -> list[AssignedHosts]:
        ctxt = context.new("lab", "lab")
        calls = [
            SelectionCall(
                ctxt, SchedulingRequest(request.id, request.resources), [server.consumer for server in request.members]
            )
            for request in requests
        ]
        assignments: list[AssignedHosts] = []
        for outcome in self._scheduler.select_batch(self._policy, calls):
            if isinstance(outcome, ServedCall):
                assignments.append([str(prepared.host) for prepared in outcome.prepared])
            elif isinstance(outcome, errors.NoValidHost):
                assignments.append(None)
            else:
                raise outcome
        claims = [
            (consumer, host)
            for call, assigned_hosts in zip(calls, assignments, strict=True)
            for consumer, host in zip(call.consumers, assigned_hosts or (), strict=assigned_hosts is not None)
        ]
        for host, refs in _by_service_host(iter(claims)):
            self.store.confirm(host, refs)
        return assignments

    def _catch_up(self) -> None:
        before = -1
        while before != self._replica.table.partitions[0].position:
            before = self._replica.table.partitions[0].position
            self._replica.step(0)


def _by_service_host(claims: Iterator[tuple[str, str]]) -> Iterator[tuple[str, list[ClaimRef]]]:
    by_host: dict[str, list[ClaimRef]] = defaultdict(list)
    for consumer, host in claims:
        by_host[host_of(host)].append(ClaimRef(consumer, 1))
    for host, refs in by_host.items():
        for start in range(0, len(refs), MAX_REFS):
            yield host, refs[start : start + MAX_REFS]


@contextlib.contextmanager
def in_memory(nodes: hosts.Nodes, policy: ReplayPolicy) -> Iterator[InProcessPlacer]:
    store = MemoryStore(PARTITION, log_length=LOG_LENGTH, decision_bytes=DECISION_BYTES)
    hosts.join(store, nodes)
    replica = Replica(store, table=HostTable([PARTITION], policy.driver.reads))
    replica.load()
    yield InProcessPlacer(store, replica, policy.driver, follows_in_thread=False)


@contextlib.contextmanager
def in_redis(nodes: hosts.Nodes, policy: ReplayPolicy) -> Iterator[InProcessPlacer]:
    with (
        private_servers.running_redis("everysec") as server,
        partitions.opened(server.url(), PARTITION, decision_bytes=DECISION_BYTES) as store,
    ):
        hosts.join(store, nodes)
        with partitions.following(server.url(), PARTITION, policy.driver.reads) as replica:
            yield InProcessPlacer(store, replica, policy.driver, follows_in_thread=True)
