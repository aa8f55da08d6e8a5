# SPDX-License-Identifier: Apache-2.0
"""One replay: a trace's arrivals and departures in order, through a placer."""

import heapq
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from devstack.lab.race.regret import JudgedClaim
from devstack.lab.replay.arrivals import ArrivalBatch, ReplayRequest, TraceSummary
from devstack.lab.replay.observer import ReplayObserver, UsageSample
from devstack.lab.replay.oracle import OracleResult
from devstack.lab.replay.placer import AssignedHosts, PlacedServer, Placer

SAMPLES = 200  # over the length of the trace
VERIFICATIONS = 8  # samples with a verification of the store's sums
CHUNK_LENGTH = 500  # requests or departures between two reads of the log; fewer than any log holds


@dataclass(frozen=True, slots=True)
class FirstRefusal:
    """The first refusal: the server's number from 1, and the used share of the scarcer class."""

    request: int
    fill: float


@dataclass(slots=True)
class ReplayRun:
    """Result of a replay: counts of servers, samples and judged claims.

    ``avoidable_refusals`` counts servers of requests that were refused although they fitted at that time.
    ``oracle_only`` counts servers that were refused and that the oracle placed, ``driver_only`` the reverse.
    """

    placements: int = 0
    refusals: int = 0
    avoidable_refusals: int = 0
    oracle_only: int = 0
    driver_only: int = 0
    overcommit: int = 0
    first_refusal: FirstRefusal | None = None
    seconds: float = 0.0
    samples: list[UsageSample] = field(default_factory=list)
    claims: Sequence[JudgedClaim] = ()


class TraceReplay:
    """Replays a trace once."""

    def __init__(
        self, placer: Placer, observer: ReplayObserver, summary: TraceSummary, oracle_result: OracleResult
    ) -> None:
        self._placer = placer
        self._observer = observer
        self._summary = summary
        self._oracle_result = oracle_result
        self._running: list[tuple[float, int, PlacedServer]] = []
        self.run = ReplayRun()

    def replay(self, batches: Iterable[ArrivalBatch], bar: Any) -> ReplayRun:
        """Remove the ending servers and place the arriving ones, in order of time; return the result."""
        for batch in batches:
            self._sample_until(batch.at)
            for ended in _chunks(self._ended_servers(batch.at)):
                self._placer.leave(ended)
                self._observer.catch_up()
            for requests in _chunks(batch.requests):
                self._count(requests, self._placer.place(requests, self._refused))
                self._observer.catch_up()
                bar.update(sum(len(request.members) for request in requests))
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
            fill = self._observer.sample(0).fill
            self.run.first_refusal = FirstRefusal(request.members[0].number + 1, fill)

    def _count(self, requests: Sequence[ReplayRequest], assignments: Sequence[AssignedHosts]) -> None:
        for request, hosts in zip(requests, assignments, strict=True):
            oracle_placed = [bool(self._oracle_result.placed_flags[member.number]) for member in request.members]
            if hosts is None:
                self.run.refusals += len(request.members)
                self.run.oracle_only += sum(oracle_placed)
                continue
            self.run.placements += len(request.members)
            self.run.driver_only += len(oracle_placed) - sum(oracle_placed)
            for member, host in zip(request.members, hosts, strict=True):
                if member.ends is not None:
                    heapq.heappush(self._running, (member.ends, member.number, PlacedServer(member, host)))

    def _sample_until(self, at: float) -> None:
        """Take the samples of the current state that are due before ``at``."""
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
