# SPDX-License-Identifier: Apache-2.0
"""The client-side time-out of a PostgreSQL connection."""

from collections.abc import Generator
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from scheduler_svc.store.sql import timeouts
from scheduler_svc.store.sql.dialect import ANSWER_SECONDS
from scheduler_svc.store.sql.timeouts import SILENCE_SECONDS, TimeoutConnection


class FakeConnection(SimpleNamespace):
    """The part of a connection that a wait uses."""

    closed = False
    silence_seconds: float | None = None

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that shows the number in a list."""
    seconds = [50.0]
    monkeypatch.setattr(timeouts, "time", SimpleNamespace(monotonic=lambda: seconds[0]))
    return seconds


def waits(received: list[Any]) -> Generator[str, Any, str]:
    """Wait until something is ready twice, as psycopg does, and return."""
    ready = 0
    while ready < 2:
        received.append((yield "read"))
        ready += bool(received[-1])
    return "answer"


def bounded(connection: FakeConnection, received: list[Any]) -> Generator[Any, Any, Any]:
    return TimeoutConnection._bounded(connection, waits(received))  # type: ignore[arg-type]


def test_answer_in_time_is_returned(clock: list[float]) -> None:
    connection, received = FakeConnection(), list[Any]()
    steps = bounded(connection, received)
    assert next(steps) == "read"
    for ready, seconds in ((0, 1.0), (1, SILENCE_SECONDS - 2), (0, 0.5)):
        clock[0] += seconds
        assert steps.send(ready) == "read"
    with pytest.raises(StopIteration) as done:
        steps.send(2)
    assert (done.value.value, received, connection.closed) == ("answer", [0, 1, 0, 2], False)


def test_silence_closes_the_connection(clock: list[float]) -> None:
    connection = FakeConnection()
    steps = bounded(connection, [])
    next(steps)
    clock[0] += SILENCE_SECONDS
    with pytest.raises(psycopg.OperationalError, match="no answer within"):
        steps.send(0)
    assert connection.closed


def test_answer_that_is_ready_at_last_is_read(clock: list[float]) -> None:
    connection, received = FakeConnection(), list[Any]()
    steps = bounded(connection, received)
    next(steps)
    clock[0] += 2 * SILENCE_SECONDS
    steps.send(1)
    assert (received, connection.closed) == ([1], False)


def test_working_server_ends_a_statement_before_the_client_does() -> None:
    assert SILENCE_SECONDS > ANSWER_SECONDS
