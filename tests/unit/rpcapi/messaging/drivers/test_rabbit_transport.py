# SPDX-License-Identifier: Apache-2.0
"""Reads of an AMQP connection end at the deadline of their thread, whatever the broker sends."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from rpcapi.messaging.drivers import deadline
from rpcapi.messaging.drivers.rabbit_transport import DeadlineConnection

HEARTBEAT = (8, 0, b"")
MOST_FRAMES = 1_000_000  # more than a thread reads in the time of a test


class TransportOfHeartbeats:
    """A transport that has a heartbeat for each read with a time limit above 0."""

    def __init__(self) -> None:
        self.limits: list[float | None] = []

    @contextmanager
    def having_timeout(self, timeout: float | None) -> Iterator[None]:
        self.limits.append(timeout)
        yield

    def read_frame(self) -> Any:
        assert len(self.limits) < MOST_FRAMES, "the heartbeats renew the wait"
        if self.limits[-1] == 0:
            raise TimeoutError
        return HEARTBEAT


@pytest.fixture
def connection() -> Any:
    created: Any = DeadlineConnection("broker")  # type: ignore[no-untyped-call]
    created._transport = TransportOfHeartbeats()
    created.on_inbound_frame = lambda _frame: False  # a heartbeat completes no method
    return created


def test_wait_for_an_answer_ends_although_heartbeats_arrive(connection: Any) -> None:
    with deadline.limit_wait(0.02), pytest.raises(TimeoutError):
        connection.drain_events()
    assert len(connection._transport.limits) > 1


@pytest.mark.parametrize(("limit", "timeout", "expected"), [(None, 7.0, 7.0), (5.0, 0.0, 0.0), (60.0, 3.0, 3.0)])
def test_sooner_limit_applies(connection: Any, limit: float | None, timeout: float, expected: float) -> None:
    connection._transport.read_frame = lambda: HEARTBEAT
    if limit is None:
        connection.blocking_read(timeout)
    else:
        with deadline.limit_wait(limit):
            connection.blocking_read(timeout)
    assert connection._transport.limits == [expected]
