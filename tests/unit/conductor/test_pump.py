# SPDX-License-Identifier: Apache-2.0
"""The pump: who works on what, how much at a time, and what a stop leaves behind."""

import threading
from collections.abc import Iterator

import pytest

from conductor.pump import Pump
from conductor.store.memory import MemoryConductorStore
from conductor.store.records import LeaseLost, RequestLease, StoreTimeouts
from rpcapi import errors
from tests.unit.conductor.polling import until
from tests.unit.conductor.store.conftest import request


class Bench:
    """A pump whose work waits for ``go`` where it is told to."""

    def __init__(self, threads: int) -> None:
        self.store = MemoryConductorStore(StoreTimeouts(lease_ms=3_600_000))
        self.stopping = threading.Event()
        self.go = threading.Event()
        self.begun: list[str] = []
        self.raises: dict[str, Exception] = {}
        self.pump = Pump(self.store, self._advance, "me", threads=threads, interval=3600, stopping=self.stopping)

    def _advance(self, lease: RequestLease) -> None:
        self.begun.append(lease.request)
        assert self.go.wait(20)
        if lease.request in self.raises:
            raise self.raises[lease.request]
        self.store.release(lease, None)

    def record(self, *names: str) -> None:
        for name in names:
            self.store.record(request(name), [f"{name}-uuid"])
        self.pump.wake()


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench(threads=2)
    yield made
    made.go.set()
    made.stopping.set()
    made.pump.wait()


def test_what_was_left_undone_is_taken_up_at_the_start(bench: Bench) -> None:
    bench.record("left")
    bench.go.set()
    bench.pump.start()
    until(lambda: bench.begun == ["left"] and bench.store.next_due() is None, "it is done")


def test_more_than_it_has_threads_for_stays_in_the_store(bench: Bench) -> None:
    bench.pump.start()
    bench.record("a", "b", "c", "d")
    until(lambda: len(bench.begun) == 2, "two are begun")
    assert len(bench.store.take("another conductor", 10)) == 2
    bench.go.set()


def test_a_thread_that_gets_free_goes_on_with_what_waits(bench: Bench) -> None:
    bench.pump.start()
    bench.record("a", "b", "c", "d")
    bench.go.set()
    until(lambda: sorted(bench.begun) == ["a", "b", "c", "d"], "all are begun")


@pytest.mark.parametrize("error", [LeaseLost("a"), errors.StoreUnavailable(why="away"), ZeroDivisionError("a bug")])
def test_whatever_becomes_of_one_request_the_others_go_on(bench: Bench, error: Exception) -> None:
    bench.raises["a"] = error
    bench.go.set()
    bench.pump.start()
    bench.record("a", "b")
    bench.record("c")
    until(lambda: sorted(bench.begun) == ["a", "b", "c"], "all are begun")
    # The lease is kept: nobody tries it again before it is over.
    until(lambda: bench.store.take("another conductor", 10) == [], "nothing else is due")


def test_a_store_that_is_away_is_asked_again(bench: Bench) -> None:
    take, failures = bench.store.take, [errors.StoreUnavailable(why="away"), ZeroDivisionError("a bug")]

    def flaky(owner: str, limit: int) -> list[RequestLease]:
        if failures:
            raise failures.pop()
        return take(owner, limit)

    bench.store.take = flaky  # type: ignore[method-assign]
    bench.go.set()
    bench.pump.start()
    bench.record("a")

    def woken_again() -> bool:
        bench.pump.wake()
        return bench.begun == ["a"]

    until(woken_again, "it is taken")


def test_a_stop_waits_for_what_is_under_way_and_takes_nothing_new(bench: Bench) -> None:
    bench.pump.start()
    bench.record("a")
    until(lambda: bench.begun == ["a"], "it is begun")
    bench.stopping.set()
    bench.record("b")
    waiter = threading.Thread(target=bench.pump.wait)
    waiter.start()
    waiter.join(0.05)
    assert waiter.is_alive()
    bench.go.set()
    waiter.join(20)
    assert not waiter.is_alive()
    assert bench.begun == ["a"]
    assert [lease.request for lease in bench.store.take("another conductor", 10)] == ["b"]
