# SPDX-License-Identifier: Apache-2.0
"""Values that are read again after an interval."""

import threading
import time

import pytest

from rpcapi.dashboard.cached import Cached


def test_value_is_read_again_after_its_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    now, former_values = [100.0], []

    def read(former: int | None) -> int:
        former_values.append(former)
        return len(former_values)

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    cached = Cached(read, 10)

    assert [cached.get(), cached.get()] == [1, 1]
    now[0] += 10
    assert cached.get() == 2
    cached.expire()
    assert cached.get() == 3
    assert former_values == [None, 1, 2]


def test_failed_read_is_repeated_at_the_next_request() -> None:
    answers = iter([OSError("away"), 7])

    def read(former: int | None) -> int:
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    cached = Cached(read, 10)
    with pytest.raises(OSError, match="away"):
        cached.get()
    assert cached.get() == 7


def test_requests_at_the_same_time_read_once() -> None:
    reads, started, answered = [], threading.Barrier(4), threading.Event()

    def read(former: int | None) -> int:
        reads.append(1)
        answered.wait(10)
        return 7

    cached = Cached(read, 10)

    def get() -> None:
        started.wait(10)
        cached.get()

    threads = [threading.Thread(target=get) for _ in range(3)]
    for thread in threads:
        thread.start()
    started.wait(10)
    answered.set()
    for thread in threads:
        thread.join(10)
    assert len(reads) == 1
