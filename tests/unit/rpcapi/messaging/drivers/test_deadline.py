# SPDX-License-Identifier: Apache-2.0
"""The thread's deadline, with an injected clock."""

import threading
import time
from types import SimpleNamespace

import pytest

from rpcapi.messaging.drivers import deadline
from rpcapi.messaging.drivers.deadline import limit_wait, limit_wait_if_unbounded, remaining_seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(deadline, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def test_thread_has_no_deadline_by_default(clock: SimpleNamespace) -> None:
    assert remaining_seconds() is None


def test_remaining_time_is_never_negative(clock: SimpleNamespace) -> None:
    with limit_wait(5):
        clock.now += 2
        assert remaining_seconds() == 3
        clock.now += 9
        assert remaining_seconds() == 0
    assert remaining_seconds() is None


@pytest.mark.parametrize(("inner", "remaining"), [(2, 2), (9, 5)])
def test_nested_deadline_only_shortens(clock: SimpleNamespace, inner: float, remaining: float) -> None:
    with limit_wait(5):
        with limit_wait(inner):
            assert remaining_seconds() == remaining
        assert remaining_seconds() == 5


@pytest.mark.parametrize("present", [2, 9])
def test_present_deadline_is_kept(clock: SimpleNamespace, present: float) -> None:
    with limit_wait(present), limit_wait_if_unbounded(5):
        assert remaining_seconds() == present
    with limit_wait_if_unbounded(5):
        assert remaining_seconds() == 5
    assert remaining_seconds() is None


def test_deadline_ends_with_an_error(clock: SimpleNamespace) -> None:
    with pytest.raises(KeyError), limit_wait(5):
        raise KeyError
    assert remaining_seconds() is None


def test_deadline_of_a_thread_is_its_own() -> None:
    seconds: list[float | None] = []
    with limit_wait(time.monotonic() + 1000):
        thread = threading.Thread(target=lambda: seconds.append(remaining_seconds()))
        thread.start()
        thread.join()
    assert seconds == [None]
