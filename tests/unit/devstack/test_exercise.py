# SPDX-License-Identifier: Apache-2.0
"""Waiting for the nodes of a starting cluster."""

import types

import oslo_messaging as messaging
import pytest

from devstack import exercise
from rpcapi.context import RequestContext


class Clock:
    """The time module's functions, without waiting."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


class StartingCluster:
    """Session of a cluster whose scheduler answers after some seconds; a call before that waits for its timeout."""

    def __init__(self, clock: Clock, starts_at: float, query_seconds: float = 0.0) -> None:
        self.ctxt = RequestContext()
        self.scheduler = types.SimpleNamespace(list_partitions=self._list_partitions, list_host_state=None)
        self._clock = clock
        self._starts_at = starts_at
        self._query_seconds = query_seconds
        self.open_counts = [0, 3]

    def _list_partitions(self, ctxt: RequestContext) -> None:
        if self._clock.now < self._starts_at:
            self._clock.now += ctxt.remaining(0.0)
            raise messaging.MessagingTimeout("no reply")

    def open_nodes(self) -> int:
        assert self._clock.now >= self._starts_at, "a query before the start waits for its long timeout"
        self._clock.now += self._query_seconds
        return self.open_counts.pop(0)


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(exercise, "time", clock)
    monkeypatch.setattr(exercise, "open_nodes", lambda session: session.open_nodes())
    return clock


def test_nodes_are_queried_soon_after_the_start(clock: Clock) -> None:
    progress: list[int] = []
    exercise.wait_for_nodes(StartingCluster(clock, starts_at=3.0), 3, 60.0, progress.append)
    assert progress == [0, 3]
    assert clock.now < 3.0 + 5.0
    assert set(clock.pauses) == {exercise.POLL}


def test_slow_queries_are_followed_by_long_pauses(clock: Clock) -> None:
    exercise.wait_for_nodes(StartingCluster(clock, starts_at=0.0, query_seconds=2.0), 3, 60.0, lambda count: None)
    assert clock.pauses == [4.0, 4.0]


def test_unanswered_queries_are_repeated_without_long_pauses(clock: Clock) -> None:
    session = StartingCluster(clock, starts_at=0.0)
    session.open_counts = [0, 0, 3]
    answered = session.open_nodes

    def open_nodes() -> int:
        count = answered()
        if len(session.open_counts) == 1:
            clock.now += 30.0
            raise messaging.MessagingTimeout("no reply")
        return count

    session.open_nodes = open_nodes  # type: ignore[method-assign]
    exercise.wait_for_nodes(session, 3, 60.0, lambda count: None)
    assert set(clock.pauses) == {exercise.POLL}


def test_a_cluster_that_does_not_start_is_reported(clock: Clock) -> None:
    session = StartingCluster(clock, starts_at=0.0)
    session.open_counts = [1] * 1000
    with pytest.raises(TimeoutError, match="only 1 of 3 nodes accept claims after 60 s"):
        exercise.wait_for_nodes(session, 3, 60.0, lambda count: None)
