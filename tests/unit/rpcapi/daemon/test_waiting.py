# SPDX-License-Identifier: Apache-2.0
"""wait_for: results, retries, and stop."""

import logging
import threading

import pytest

from rpcapi.daemon.waiting import ShutdownRequested, wait_for


class LateDependency:
    """A dependency that is unreachable for the first ``times`` probes."""

    def __init__(self, times: int) -> None:
        self.remaining_failures = times

    def __call__(self) -> str:
        if self.remaining_failures:
            self.remaining_failures -= 1
            raise ConnectionRefusedError("connection refused")
        return "here"


def test_result_of_a_reachable_dependency_is_returned_at_once(caplog: pytest.LogCaptureFixture) -> None:
    assert wait_for("Redis", LateDependency(0), threading.Event()) == "here"
    assert caplog.messages == []


def test_each_failed_attempt_logs_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    assert wait_for("Redis", LateDependency(4), threading.Event(), first_pause=0.01, max_pause=10) == "here"

    # Threads of earlier tests may still log retries.
    messages = [record.getMessage() for record in caplog.records if record.name == "rpcapi.daemon.waiting"]
    lines, last = messages[:-1], messages[-1]
    assert [line.split(";")[0] for line in lines] == [
        f"Redis is unreachable (attempt {n}: connection refused)" for n in (1, 2, 3, 4)
    ]
    assert last == "Redis is reachable"


def test_stop_interrupts_the_pause() -> None:
    stopping = threading.Event()
    ended: list[type[BaseException]] = []

    def wait() -> None:
        try:
            wait_for("Redis", LateDependency(1000), stopping, first_pause=60, max_pause=60)
        except ShutdownRequested as exc:
            ended.append(type(exc))

    waiter = threading.Thread(target=wait)
    waiter.start()
    stopping.set()
    waiter.join(10)
    assert ended == [ShutdownRequested]


def test_no_probe_after_stop() -> None:
    stopping = threading.Event()
    stopping.set()
    dependency = LateDependency(1)

    with pytest.raises(ShutdownRequested):
        wait_for("Redis", dependency, stopping)
    assert dependency.remaining_failures == 1


def test_other_errors_are_raised() -> None:
    def broken() -> None:
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        wait_for("Redis", broken, threading.Event())


def test_errors_that_mean_unreachable_are_configurable() -> None:
    calls = []

    def probe() -> int:
        calls.append(1)
        if len(calls) < 2:
            raise LookupError("not yet")
        return len(calls)

    assert wait_for("the store", probe, threading.Event(), retry_on=(LookupError,), first_pause=0.01) == 2
