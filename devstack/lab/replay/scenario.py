# SPDX-License-Identifier: Apache-2.0
"""One replay: arrivals and departures of a trace in order, through a placer and an oracle."""

import heapq
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from devstack.lab import hosts
from devstack.lab.race.regret import JudgedClaim
from devstack.lab.replay.arrivals import ArrivalBatch, ReplayRequest, ReplayServer, TraceSummary
from devstack.lab.replay.observer import ReplayObserver, UsageSample
from scheduler_svc.core.drivers.driver import Driver
from scheduler_svc.core.records import Snapshot
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.store.interface import Store

AssignedHosts = Sequence[str] | None  # Hosts of a request's servers, in order; None if refused.
OnRefusal = Callable[[ReplayRequest], None]

SAMPLES = 200  # samples over the length of the trace
VERIFICATIONS = 8
CHUNK_LENGTH = 500  # requests or departures between two reads of the log; fewer entries than any log keeps


@dataclass(frozen=True, slots=True)
class PlacedServer:
    member: ReplayServer
    host: str


class Placer(Protocol):
    """Interface to place and remove servers; ``store`` is for observers, ``seconds`` the time spent placing."""

    store: Store
    seconds: float

    def place(self, requests: Sequence[ReplayRequest], on_refusal: OnRefusal) -> list[AssignedHosts]:
        """Place requests that arrive together, and return the assigned hosts of each."""

    def leave(self, servers: Sequence[PlacedServer]) -> None:
        """Remove servers, and return when their resources are free."""


class Oracle:
    """Sequential placement on the complete current state, in its own table, without knowledge of the future."""

    def __init__(self, snapshot: Snapshot, driver: Driver) -> None:
        self._driver = driver
        self._table = HostTable.from_snapshot(snapshot, reads=self._driver.reads)
        self._used: dict[str, dict[str, int]] = defaultdict(dict)
        self._running: list[tuple[float, int, str, Any]] = []
        self.placed_flags = bytearray()

    def process(self, arrivals: ArrivalBatch) -> None:
        while self._running and self._running[0][0] <= arrivals.at:
            _, _, host, request = heapq.heappop(self._running)
            self._count(host, request, -1)
        for request in arrivals.requests:
            self.placed_flags += bytes([self._place(request)]) * len(request.members)

    def _place(self, request: ReplayRequest) -> bool:
        scheduling_request = SchedulingRequest(request.id, request.resources)
        assigned_hosts: list[str] = []
        for _ in request.members:
            with self._table.reading() as view:
                ranked = self._driver.rank(view, scheduling_request, 1, scheduling_request.seed).candidates
            if not ranked:
                for host in assigned_hosts:
                    self._count(host, request, -1)
                return False
            assigned_hosts.append(ranked[0][0])
            self._count(ranked[0][0], request, 1)
        for host, member in zip(assigned_hosts, request.members, strict=True):
            if member.ends is not None:
                heapq.heappush(self._running, (member.ends, member.number, host, request))
        return True

    def _count(self, host: str, request: ReplayRequest, sign: int) -> None:
        used = self._used[host]
        for name, amount in request.resources.items():
            used[name] = used.get(name, 0) + sign * amount
        self._table.apply_used({host: used}, hosts.POSITION)


@dataclass(slots=True)
class ReplayRun:
    """Counts of servers, usage samples and judged claims.

    ``avoidable_refusals`` are servers that would have fitted. ``oracle_only`` servers were placed only by the oracle,
    ``driver_only`` only by the driver. ``first_refusal`` is the number of the first refused server, from 1, and the
    used share of the scarcer class at that time.
    """

    placements: int = 0
    refusals: int = 0
    avoidable_refusals: int = 0
    oracle_only: int = 0
    driver_only: int = 0
    overcommit: int = 0
    first_refusal: tuple[int, float] | None = None
    servers_by_host: Counter[str] = field(default_factory=Counter)  # departed ones included
    seconds: float = 0.0
    samples: list[UsageSample] = field(default_factory=list)
    claims: Sequence[JudgedClaim] = ()


class TraceReplay:
    def __init__(
        self, placer: Placer, observer: ReplayObserver, summary: TraceSummary, oracle_flags: Sequence[int]
    ) -> None:
        """``oracle_flags`` has one flag per server of the trace: whether the oracle placed it."""
        self._placer = placer
        self._observer = observer
        self._summary = summary
        self._oracle_flags = oracle_flags
        self._running: list[tuple[float, int, PlacedServer]] = []
        self.run = ReplayRun()

    def replay(self, batches: Iterable[ArrivalBatch]) -> ReplayRun:
        for batch in batches:
            self._sample_until(batch.at)
            for ended in _chunks(self._ended_servers(batch.at)):
                self._placer.leave(ended)
                self._observer.catch_up()
            for requests in _chunks(batch.requests):
                self._count(requests, self._placer.place(requests, self._refused))
                self._observer.catch_up()
        self._sample_until(float("inf"))
        self.run.seconds, self.run.claims = self._placer.seconds, self._observer.claims
        return self.run

    def _ended_servers(self, at: float) -> Iterator[PlacedServer]:
        while self._running and self._running[0][0] <= at:
            yield heapq.heappop(self._running)[2]

    def _refused(self, request: ReplayRequest) -> None:
        self._observer.catch_up()
        if self._observer.could_take(request.resources, len(request.members)):
            self.run.avoidable_refusals += len(request.members)
        if self.run.first_refusal is None:
            self.run.first_refusal = request.members[0].number + 1, self._observer.sample(0).fill

    def _count(self, requests: Sequence[ReplayRequest], assignments: Sequence[AssignedHosts]) -> None:
        for request, assigned_hosts in zip(requests, assignments, strict=True):
            oracle_placed = [bool(self._oracle_flags[member.number]) for member in request.members]
            if assigned_hosts is None:
                self.run.refusals += len(request.members)
                self.run.oracle_only += sum(oracle_placed)
                continue
            self.run.placements += len(request.members)
            self.run.servers_by_host.update(assigned_hosts)
            self.run.driver_only += len(oracle_placed) - sum(oracle_placed)
            for member, host in zip(request.members, assigned_hosts, strict=True):
                if member.ends is not None:
                    heapq.heappush(self._running, (member.ends, member.number, PlacedServer(member, host)))

    def _sample_until(self, at: float) -> None:
        begins, span = self._summary.begins, self._summary.ends - self._summary.begins
        while len(self.run.samples) < SAMPLES:
            due_at = begins + (len(self.run.samples) + 1) * span / SAMPLES
            if due_at >= at:
                return
            self.run.samples.append(self._observer.sample(due_at))
            if len(self.run.samples) % (SAMPLES // VERIFICATIONS) == 0:
                verification = self._placer.store.verify()
                self.run.overcommit += len(verification.excess) + len(verification.problems)


def _chunks(items: Iterable[Any]) -> Iterator[Sequence[Any]]:
    source = iter(items)
    while chunk := list(itertools.islice(source, CHUNK_LENGTH)):
        yield chunk
