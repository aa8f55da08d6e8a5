# SPDX-License-Identifier: Apache-2.0
"""One worker of a race: its own process, store, replica and selector, and what it was answered."""

import contextlib
import multiprocessing
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from multiprocessing.synchronize import Barrier
from typing import Any

from devstack.lab import driver
from devstack.lab.requests import Wanted
from rpcapi import context, errors
from rpcapi.model.claims import Verdict
from scheduler_svc.replica import Replica
from scheduler_svc.select import Asked, Patience, Selector
from scheduler_svc.store.interface import Store
from scheduler_svc.store.records import Batch, BatchAnswer, Ended, Ref
from scheduler_svc.store.redis import RedisStore

START_SECONDS = 120.0
LOOK_SECONDS = 0.2
TTL_MS = 86_400_000  # no claim expires while the race is on
LOG_LENGTH = 5_000_000  # entries: the whole race, so that it can be gone through again

_line: Barrier
_done: Any


@dataclass(slots=True)
class Tally:
    """What one worker, or all together, did and was answered.

    ``scripts`` counts claim scripts that had a candidate to try, ``first`` those of them that claimed the first one,
    ``most`` is the longest list that one went through. ``behind`` sums up by how many log entries (each is one
    claim, the worker's own too) the tables decided on were behind when the scripts ran.
    """

    placed: int = 0
    refused: int = 0
    scripts: int = 0
    first: int = 0
    most: int = 0
    behind: int = 0
    verdicts: Counter[Verdict] = field(default_factory=Counter)

    def add(self, other: "Tally") -> None:
        """Count another worker's in."""
        self.placed += other.placed
        self.refused += other.refused
        self.scripts += other.scripts
        self.first += other.first
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
        self._tally.first += sum(verdicts[:1] == (Verdict.FITS,) for verdicts in tried)
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
    spawning = multiprocessing.get_context("spawn")  # a fork would inherit the parent's threads' locks
    line, done = spawning.Barrier(course.workers + 1), spawning.Value("q", 0)
    total, counted = Tally(), 0
    with ProcessPoolExecutor(course.workers, spawning, _join, (line, done)) as pool, _ending_workers():
        shares = [wanted[index :: course.workers] for index in range(course.workers)]
        futures = [pool.submit(_work, course, partition, share) for share in shares]
        with contextlib.suppress(threading.BrokenBarrierError):  # a worker that could not start tells why
            line.wait(START_SECONDS)
        began = time.perf_counter()
        left = set(futures)
        while left:
            _, left = wait(left, LOOK_SECONDS)
            bar.update(done.value - counted)
            counted = done.value
        took = time.perf_counter() - began
    _raise_what_failed(future.exception() for future in futures)
    for future in futures:
        total.add(future.result())
    return total, took


@contextlib.contextmanager
def _ending_workers() -> Iterator[None]:
    """End the workers when this process is told to stop: the pool would wait for the race's end."""
    try:
        yield
    except BaseException:
        for child in multiprocessing.active_children():
            child.terminate()
        raise


def _raise_what_failed(failures: Iterable[BaseException | None]) -> None:
    """Raise a worker's error: what stopped the first rather than that others were then stopped."""
    found = [failure for failure in failures if failure is not None]
    found.sort(key=lambda failure: isinstance(failure, threading.BrokenBarrierError))
    if found:
        raise found[0]


def _join(line: Barrier, done: Any) -> None:
    """Keep what the processes share; it can only be given to them as they start."""
    global _line, _done
    _line, _done = line, done


def _work(course: Field, partition: str, wanted: Sequence[Wanted]) -> Tally:
    tally = Tally()
    store, followed = (RedisStore(course.url, partition, log_length=LOG_LENGTH) for _ in range(2))
    replica = Replica(followed)
    try:
        replica.load()
        replica.start()
        selector = Selector(
            CountingClaimer(store, tally), replica, driver.default(course.subset), Patience(ttl_ms=TTL_MS)
        )
        _line.wait(START_SECONDS)
        for one in wanted:
            _place(selector, one, tally)
            with _done.get_lock():
                _done.value += 1
    except BaseException:
        _line.abort()
        raise
    finally:
        replica.stop()
        replica.wait()
        store.close()
        followed.close()
    return tally


def _place(selector: Selector, one: Wanted, tally: Tally) -> None:
    try:
        selector.select(context.new("lab", "lab"), Asked(one.request, [one.consumer]))
    except errors.NoValidHost:
        tally.refused += 1
    else:
        tally.placed += 1
