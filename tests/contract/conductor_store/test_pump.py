# SPDX-License-Identifier: Apache-2.0
"""The pump: concurrency, errors, and stop."""

import threading
from collections.abc import Iterator

import pytest

from conductor.pump import Pump
from conductor.store.memory import MemoryConductorStore
from conductor.store.records import LeaseLost, RequestLease, StoreTimeouts
from rpcapi import errors
from tests.support.conductor.bench import request
from tests.support.conductor.polling import until


class BlockedPump:
    """A pump with work that can be held until ``go`` is set."""

    def __init__(self, threads: int, max_in_flight: int = 1000, max_building: int = 1000) -> None:
        self.store = MemoryConductorStore(StoreTimeouts(lease_ms=3_600_000))
        self.go = threading.Event()
        self.begun: list[str] = []
        self.raises: dict[str, Exception] = {}
        bounds = {"threads": threads, "max_in_flight": max_in_flight, "max_building": max_building}
        self.pump = Pump(self.store, self._advance, "me", **bounds, interval=3600)

    def _advance(self, lease: RequestLease) -> None:
        self.begun.append(lease.request)
        assert self.go.wait(20)
        if lease.request in self.raises:
            raise self.raises[lease.request]
        self.store.release(lease, None)

    def record(self, *names: str, size: int = 1) -> None:
        for name in names:
            self.store.record(request(name), [f"{name}-uuid-{number}" for number in range(size)])
        self.pump.wake()


@pytest.fixture
def bench() -> Iterator[BlockedPump]:
    created = BlockedPump(threads=2)
    yield created
    created.go.set()
    created.pump.stop()
    created.pump.wait()


def test_unfinished_work_is_resumed_at_start(bench: BlockedPump) -> None:
    bench.record("left")
    bench.go.set()
    bench.pump.start()
    until(lambda: bench.begun == ["left"] and bench.store.next_due() is None, "it is done")


def test_requests_beyond_threads_stay_in_the_store(bench: BlockedPump) -> None:
    bench.pump.start()
    bench.record("a", "b", "c", "d")
    until(lambda: len(bench.begun) == 2, "two are begun")
    assert len(bench.store.take("another conductor", 10)) == 2
    bench.go.set()


def test_instances_beyond_the_limit_in_flight_stay_in_the_store(bench: BlockedPump) -> None:
    bench.pump.start()
    bench.record("a", size=600)
    until(lambda: bench.begun == ["a"], "it is begun")
    bench.record("b", size=401)
    bench.pump.run_once()
    assert bench.begun == ["a"]
    bench.go.set()
    until(lambda: bench.begun == ["a", "b"], "the second begins when the first is done")


def test_free_thread_takes_waiting_request(bench: BlockedPump) -> None:
    bench.pump.start()
    bench.record("a", "b", "c", "d")
    bench.go.set()
    until(lambda: sorted(bench.begun) == ["a", "b", "c", "d"], "all are begun")


@pytest.mark.parametrize("error", [LeaseLost("a"), errors.StoreUnavailable(why="away"), ZeroDivisionError("a bug")])
def test_failure_of_one_request_does_not_stop_others(bench: BlockedPump, error: Exception) -> None:
    bench.raises["a"] = error
    bench.go.set()
    bench.pump.start()
    bench.record("a", "b")
    bench.record("c")
    until(lambda: sorted(bench.begun) == ["a", "b", "c"], "all are begun")
    # The lease is kept: no conductor takes it before it is over.
    until(lambda: bench.store.take("another conductor", 10) == [], "nothing else is due")


def test_unavailable_store_is_polled_again(bench: BlockedPump) -> None:
    take, failures = bench.store.take, [errors.StoreUnavailable(why="away"), ZeroDivisionError("a bug")]

    def flaky(owner: str, limit: int, *limits: int) -> list[RequestLease]:
        if failures:
            raise failures.pop()
        return take(owner, limit, *limits)

    bench.store.take = flaky  # type: ignore[method-assign]
    bench.go.set()
    bench.pump.start()
    bench.record("a")

    def woken_again() -> bool:
        bench.pump.wake()
        return bench.begun == ["a"]

    until(woken_again, "it is taken")


def test_stop_waits_for_running_work_and_takes_no_new(bench: BlockedPump) -> None:
    bench.pump.start()
    bench.record("a")
    until(lambda: bench.begun == ["a"], "it is begun")
    bench.pump.stop()
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


def test_new_requests_beyond_what_may_be_built_stay_in_the_store() -> None:
    bench = BlockedPump(threads=4, max_building=2)
    bench.record("a", "b", size=2)
    bench.pump.start()
    until(lambda: bench.begun == ["a"], "one is begun")
    assert [lease.request for lease in bench.store.take("another conductor", 10, max_building=2)] == []
    assert [lease.request for lease in bench.store.take("another conductor", 10)] == ["b"]
    bench.go.set()
    bench.pump.stop()
    bench.pump.wait()
