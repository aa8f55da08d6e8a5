# SPDX-License-Identifier: Apache-2.0
"""One worker of a race: its own process, store, replica and selector, and what it was answered."""

import functools
import multiprocessing
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from devstack.lab import driver
from devstack.lab.crew import Crew, Line
from devstack.lab.requests import Wanted
from rpcapi import context, errors
from rpcapi.model.claims import Verdict
from scheduler_svc.deciding.select import Asked, Patience, Selector
from scheduler_svc.following.replica import Replica
from scheduler_svc.store.interface import Store
from scheduler_svc.store.records import Batch, BatchAnswer, Ended, Ref
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.table.table import HostTable

START_SECONDS = 120.0
TTL_MS = 86_400_000  # no claim expires while the race is on
LOG_LENGTH = 5_000_000  # entries: the whole race, so that it can be gone through again

WON = {Verdict.FITS, Verdict.PASSED}  # verdicts where no candidate was lost to another worker

READY = "ready"
GO = "go"


@dataclass(slots=True)
class Tally:
    """What one worker, or all together, did and was answered.

    ``scripts`` counts claim scripts that had a candidate to try, ``first`` those that lost none to others before they
    claimed one, ``very_first`` those that claimed the very first: the others passed over near ones that had changed.
    ``most`` is the longest list that one went through. ``behind`` sums up by how many log entries (each is one claim,
    the worker's own too) the tables decided on were behind when the scripts ran.
    """

    placed: int = 0
    refused: int = 0
    scripts: int = 0
    first: int = 0
    very_first: int = 0
    most: int = 0
    behind: int = 0
    verdicts: Counter[Verdict] = field(default_factory=Counter)

    def add(self, other: "Tally") -> None:
        """Count another worker's in."""
        self.placed += other.placed
        self.refused += other.refused
        self.scripts += other.scripts
        self.first += other.first
        self.very_first += other.very_first
        self.behind += other.behind
        self.most = max(self.most, other.most)
        self.verdicts.update(other.verdicts)


class CountingClaimer:
    """The store as the selector asks it, with a look at each answer."""

    def __init__(self, store: Store, tally: Tally) -> None:
        self._store = store
        self._tally = tally

    def prepare(self, batch: Batch) -> BatchAnswer:
        """Claim, and count what became of the candidates."""
        answer = self._store.prepare(batch)
        tried = [one.verdicts for one in answer.prepared]
        if any(tried):
            self._tally.scripts += 1
            self._tally.behind += answer.position - answer.accepted - batch.position
        self._tally.most = max(self._tally.most, *map(len, tried))
        self._tally.verdicts.update(verdict for verdicts in tried for verdict in verdicts)
        self._tally.first += sum(bool(verdicts) and WON.issuperset(verdicts) for verdicts in tried)
        self._tally.very_first += sum(tuple(verdicts[:1]) == (Verdict.FITS,) for verdicts in tried)
        return answer

    def abort(self, refs: Sequence[Ref]) -> list[Ended]:
        """End prepared claims."""
        return self._store.abort(refs)

    def group_hosts(self, group_id: str) -> dict[str, int]:
        """Tell where a group's claims are."""
        return self._store.group_hosts(group_id)


@dataclass(frozen=True, slots=True)
class Field:
    """How a race is run: the store's URL, how many workers, and from how many of the best hosts each one draws."""

    url: str
    workers: int
    subset: int = 1


def run(course: Field, partition: str, wanted: Sequence[Wanted], bar: Any) -> tuple[Tally, float]:
    """Let processes place ``wanted`` at once, each its share; return what they did and the seconds that it took.

    Raises what a worker raised.
    """
    done = multiprocessing.get_context("spawn").RawArray("q", course.workers)
    counted = 0

    def watch() -> None:
        nonlocal counted
        now = sum(done)
        bar.update(now - counted)
        counted = now

    with Crew(course.workers, functools.partial(_work, course, partition, done)) as crew:
        crew.tell([wanted[index :: course.workers] for index in range(course.workers)])
        crew.hear(START_SECONDS)
        began = time.perf_counter()
        crew.tell([GO] * course.workers)
        tallies = crew.hear(meanwhile=watch)
        took = time.perf_counter() - began
    total = Tally()
    for tally in tallies:
        total.add(tally)
    return total, took


def _work(course: Field, partition: str, done: Any, line: Line, index: int) -> None:
    """Run in a worker: get ready, wait for the others, then place the share, counting into ``done``."""
    wanted: Sequence[Wanted] = line.recv()
    tally = Tally()
    store, followed = (RedisStore(course.url, partition, log_length=LOG_LENGTH) for _ in range(2))
    ranker = driver.default(course.subset)
    replica = Replica(followed, table=HostTable([partition], ranker.reads))
    try:
        replica.load()
        replica.start()
        selector = Selector(CountingClaimer(store, tally), replica, ranker, Patience(ttl_ms=TTL_MS))
        line.send(READY)
        line.recv()
        for count, one in enumerate(wanted, 1):
            _place(selector, one, tally)
            done[index] = count
    finally:
        replica.stop()
        replica.wait()
        store.close()
        followed.close()
    line.send(tally)


def _place(selector: Selector, one: Wanted, tally: Tally) -> None:
    try:
        selector.select(context.new("lab", "lab"), Asked(one.request, [one.consumer]))
    except errors.NoValidHost:
        tally.refused += 1
    else:
        tally.placed += 1
