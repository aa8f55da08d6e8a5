# SPDX-License-Identifier: Apache-2.0
"""Values that are read again after an interval."""

import threading
import time

import pytest

from rpcapi.dashboard.cached import Cached


def test_value_is_read_again_after_its_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    now, former_values = [100.0], []

    def read() -> int:
        former_values.append(cached.latest)
        return len(former_values)

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    cached: Cached[int] = Cached(read, 10)

    assert [cached.get(), cached.get()] == [1, 1]
    now[0] += 10
    assert cached.get() == 2
    cached.expire()
    assert cached.get() == 3
    assert former_values == [None, 1, 2]


def test_failure_is_raised_to_all_until_the_interval_has_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    now, reads = [100.0], []

    def read() -> int:
        reads.append(cached.latest)
        if len(reads) in (1, 3):
            raise OSError("away")
        return len(reads)

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    cached: Cached[int] = Cached(read, 10)

    for _ in range(2):
        with pytest.raises(OSError, match="away"):
            cached.get()
    now[0] += 10
    assert cached.get() == 2
    now[0] += 10
    with pytest.raises(OSError, match="away"):
        cached.get()
    now[0] += 10
    assert cached.get() == 4
    assert reads == [None, None, 2, 2]


class SlowRead:
    """A read that waits until it is let go; counts how often it was called."""

    def __init__(self) -> None:
        self.reads = 0
        self.begun, self.gate = threading.Event(), threading.Event()

    def __call__(self) -> int:
        self.reads += 1
        self.begun.set()
        assert self.gate.wait(10)
        return self.reads


def test_requests_at_the_same_time_read_once() -> None:
    slow, answers = SlowRead(), []
    cached = Cached(slow, 10)
    threads = [threading.Thread(target=lambda: answers.append(cached.get())) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert slow.begun.wait(10)
    slow.gate.set()
    for thread in threads:
        thread.join(10)

    assert answers == [1, 1, 1]
    assert slow.reads == 1


def test_others_get_the_previous_value_while_one_reads() -> None:
    slow = SlowRead()
    slow.gate.set()
    cached = Cached(slow, 10)
    assert cached.get() == 1
    slow.gate.clear()
    slow.begun.clear()
    cached.expire()
    reader = threading.Thread(target=cached.get)
    reader.start()
    assert slow.begun.wait(10)

    assert cached.get() == 1

    slow.gate.set()
    reader.join(10)
    assert cached.get() == 2
