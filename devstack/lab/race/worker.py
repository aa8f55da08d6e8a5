# SPDX-License-Identifier: Apache-2.0
"""Worker process of a race, with its own store, replica and scheduler, and the tally of its results."""

import functools
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields

from devstack.lab import default_driver, partitions
from devstack.lab.hosts import ServerRequest
from devstack.lab.worker_processes import PipeEnd, WorkerProcesses
from rpcapi import context, errors
from rpcapi.resources.claims import Verdict
from scheduler_svc.core.records import BatchAnswer, BatchOutcomes, ClaimBatch
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.partition_scheduler import PartitionScheduler, SchedulingLimits
from scheduler_svc.scheduling.ranking import SchedulingPolicy
from scheduler_svc.store.interface import Store

START_SECONDS = 120.0
TTL_MS = 86_400_000  # no claim expires during the race
LOG_LENGTH = 5_000_000  # entries of the whole race, so that it can be replayed

WON = {Verdict.FITS, Verdict.PASSED}  # verdicts of candidates that were not lost to another worker

READY = "ready"
GO = "go"


@dataclass(slots=True)
class RaceTally:
    """Counts of one worker or of all workers.

    ``scripts`` had a candidate to try. ``first_choices`` lost no candidate to others; ``very_first_choices`` claimed
    the first candidate, without passing over near hosts that had changed. ``behind`` sums the log entries that the
    deciding tables lacked. ``rounds`` are packets of ``calls``.
    """

    rounds: int = 0
    calls: int = 0
    placements: int = 0
    refusals: int = 0
    scripts: int = 0
    first_choices: int = 0
    very_first_choices: int = 0
    max_candidates: int = 0
    behind: int = 0
    verdicts: Counter[Verdict] = field(default_factory=Counter)

    def add(self, tally: "RaceTally") -> None:
        max_candidates = max(self.max_candidates, tally.max_candidates)
        for counted in fields(self):
            setattr(self, counted.name, getattr(self, counted.name) + getattr(tally, counted.name))
        self.max_candidates = max_candidates


class CountingStore:
    """Store that counts the results of its claims."""

    def __init__(self, store: Store, tally: RaceTally) -> None:
        self.group_hosts, self.hosts_of, self.sources_of = store.group_hosts, store.hosts_of, store.sources_of
        self.record_decision, self.begin_epoch_if_behind = store.record_decision, store.begin_epoch_if_behind
        self._store = store
        self._tally = tally

    def prepare_all(self, batches: Sequence[ClaimBatch], log_after: int | None = None) -> BatchOutcomes:
        prepared = self._store.prepare_all(batches, log_after)
        self._tally.rounds += 1
        self._tally.calls += len(batches)
        for batch, answer in zip(batches, prepared.outcomes, strict=True):
            if isinstance(answer, BatchAnswer):
                self._count(batch, answer)
        return prepared

    def _count(self, batch: ClaimBatch, answer: BatchAnswer) -> None:
        verdicts_by_intent = [result.verdicts for result in answer.prepared]
        if any(verdicts_by_intent):
            self._tally.scripts += 1
            self._tally.behind += answer.position - answer.accepted - batch.position
        self._tally.max_candidates = max(self._tally.max_candidates, *map(len, verdicts_by_intent))
        self._tally.verdicts.update(verdict for verdicts in verdicts_by_intent for verdict in verdicts)
        self._tally.first_choices += sum(bool(verdicts) and WON.issuperset(verdicts) for verdicts in verdicts_by_intent)
        self._tally.very_first_choices += sum(tuple(verdicts[:1]) == (Verdict.FITS,) for verdicts in verdicts_by_intent)


def run(
    url: str, partition: str, servers: Sequence[ServerRequest], *, workers: int, subset: int = 1, callers: int = 1
) -> tuple[RaceTally, float]:
    """Let workers with ``callers`` threads each draw from the ``subset`` best hosts; return counts and seconds."""
    task = functools.partial(_work, url, partition, subset=subset, callers=callers)
    with WorkerProcesses(workers, task) as processes:
        processes.send([servers[index::workers] for index in range(workers)])
        processes.receive(START_SECONDS)
        began = time.perf_counter()
        processes.send([GO] * workers)
        tallies = processes.receive()
        took = time.perf_counter() - began
    total = RaceTally()
    for tally in tallies:
        total.add(tally)
    return total, took


def _work(url: str, partition: str, pipe: PipeEnd, index: int, *, subset: int, callers: int) -> None:
    servers: Sequence[ServerRequest] = pipe.recv()
    tally = RaceTally()
    ranker = default_driver.default(subset)
    with (
        partitions.opened(url, partition, log_length=LOG_LENGTH) as store,
        partitions.following(url, partition, ranker.reads, log_length=LOG_LENGTH) as replica,
    ):
        scheduler = PartitionScheduler(CountingStore(store, tally), replica, SchedulingLimits(ttl_ms=TTL_MS))
        policy = SchedulingPolicy(ranker)
        pipe.send(READY)
        pipe.recv()
        with ThreadPoolExecutor(callers) as threads:
            tally.placements = sum(threads.map(functools.partial(_place, scheduler, policy), servers))
        tally.refusals = len(servers) - tally.placements
    pipe.send(tally)


def _place(scheduler: PartitionScheduler, policy: SchedulingPolicy, server: ServerRequest) -> bool:
    try:
        scheduler.select(policy, SelectionCall(context.new("lab", "lab"), server.request, [server.consumer]))
    except errors.NoValidHost:
        return False
    return True
