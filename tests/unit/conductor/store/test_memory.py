# SPDX-License-Identifier: Apache-2.0
"""What only the store in memory has: its clock, and the time of the next work."""

import threading

from conductor.store.memory import MemoryConductorStore
from conductor.store.records import StoreTimeouts
from conductor.store.steady_clock import steady_clock
from tests.support.conductor.bench import request


def test_clock_is_unix_time_in_milliseconds() -> None:
    # 2020-01-01 to 2100-01-01
    assert 1_577_836_800_000 < steady_clock() < 4_102_444_800_000


def test_next_due_is_the_earliest_request_or_end_of_a_lease() -> None:
    now = [1000]
    store = MemoryConductorStore(StoreTimeouts(lease_ms=400), lambda: now[0])
    assert store.next_due() is None
    store.record(request("early"), ["a"])
    now[0] = 1010
    store.record(request("late"), ["b"])
    assert store.next_due() == 1000
    (early, late) = store.take("me", 10)
    assert store.next_due() == 1410
    store.release(early, 5000)
    assert store.next_due() == 1410
    store.release(late, None)
    assert store.next_due() == 5000


def test_concurrent_takes_lease_each_request_once() -> None:
    store = MemoryConductorStore()
    for number in range(50):
        store.record(request(f"r{number}"), [f"i{number}"])
    leases: list[str] = []

    def take() -> None:
        while batch := store.take("me", 3):
            leases.extend(lease.request for lease in batch)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(leases) == sorted(f"r{number}" for number in range(50))
