# SPDX-License-Identifier: Apache-2.0
"""Background loops: repetition, failures, wake and stop."""

import itertools
import logging
import queue

import pytest

from rpcapi import errors
from rpcapi.background import BackgroundLoop, Periodic

LONG = 3600.0  # seconds; a wait of this length must be interrupted


class RecordingLoop(BackgroundLoop):
    """Records each call; ``pauses`` are what run_once returns, or raises."""

    def __init__(self, *pauses: float | Exception) -> None:
        super().__init__("recording")
        self.pauses = iter(pauses)
        self.calls: queue.Queue[str] = queue.Queue()

    def run_once(self) -> float:
        self.calls.put("run")
        pause = next(self.pauses)
        if isinstance(pause, Exception):
            raise pause
        return pause

    def handle_failure(self, error: Exception) -> float:
        self.calls.put(f"failure: {error}")
        return 0.0

    def finish(self) -> None:
        self.calls.put("finish")

    def next_calls(self, count: int) -> list[str]:
        return [self.calls.get(timeout=30) for _ in range(count)]


def test_loop_is_repeated_after_success_and_failure() -> None:
    loop = RecordingLoop(0.0, ZeroDivisionError("a bug"), 0.0, LONG)
    loop.start()
    assert loop.next_calls(5) == ["run", "run", "failure: a bug", "run", "run"]
    loop.stop()
    loop.wait()


def test_stop_ends_a_long_pause_and_then_the_rest_is_done() -> None:
    loop = RecordingLoop(LONG)
    loop.start()
    assert loop.next_calls(1) == ["run"]
    loop.stop()
    loop.wait()
    assert loop.is_stopping
    assert loop.next_calls(1) == ["finish"]
    assert loop.calls.empty()


def test_wake_ends_a_long_pause() -> None:
    loop = RecordingLoop(LONG, LONG)
    loop.start()
    assert loop.next_calls(1) == ["run"]
    loop.wake()
    assert loop.next_calls(1) == ["run"]
    loop.stop()
    loop.wait()


def test_wake_during_a_call_skips_the_next_pause() -> None:
    class WakingLoop(RecordingLoop):
        def run_once(self) -> float:
            self.wake()
            return super().run_once()

    loop = WakingLoop(LONG, LONG, LONG)
    loop.start()
    assert loop.next_calls(3) == ["run"] * 3
    loop.stop()
    loop.wait()


def test_loop_stopped_before_its_start_does_nothing() -> None:
    loop = RecordingLoop()
    loop.stop()
    loop.start()
    loop.wait()
    assert loop.next_calls(1) == ["finish"]
    assert loop.calls.empty()


def test_wait_returns_at_once_if_never_started() -> None:
    loop = RecordingLoop()
    loop.stop()
    loop.wait()
    assert loop.calls.empty()


def test_failure_is_logged_with_its_traceback_by_default(caplog: pytest.LogCaptureFixture) -> None:
    class FailingLoop(BackgroundLoop):
        def run_once(self) -> float:
            self.stop()
            raise ZeroDivisionError("a bug")

    loop = FailingLoop("failing")
    loop.start()
    loop.wait()
    assert "failing failed; retrying in 1.0 s" in caplog.text
    assert "ZeroDivisionError: a bug" in caplog.text


def test_periodic_task_survives_outages_and_errors(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    calls: queue.Queue[None] = queue.Queue()
    away, bug = errors.StoreUnavailable(why="away"), ZeroDivisionError("a bug")
    failures = itertools.chain([away, away, bug], itertools.repeat(None))

    def act() -> None:
        calls.put(None)
        failure = next(failures)
        if failure is not None:
            raise failure

    periodic = Periodic("reaping", act, lambda: 0.001)
    periodic.start()
    for _ in range(5):
        calls.get(timeout=30)
    periodic.stop()
    periodic.wait()
    levels = [record.levelname for record in caplog.records if record.message.startswith("reaping")]
    assert levels == ["WARNING", "DEBUG", "ERROR"]
