# SPDX-License-Identifier: Apache-2.0
"""Calls whose callers cannot wait for an answer any more."""

import datetime
from types import SimpleNamespace

import oslo_messaging as messaging
import pytest

from rpcapi import errors
from rpcapi.messaging.arrivals import Arrival
from rpcapi.messaging.late_calls import LateCallDispatcher

NOW = 1_800_000_000.0
UPTIME = 7200.0  # of the monotonic clock
PATIENCE = 60


class Endpoint:
    target = messaging.Target(version="1.0")

    def __init__(self):
        self.calls = 0

    def work(self, ctxt):
        self.calls += 1
        return "done"

    work.exposed = True


class Message(SimpleNamespace):
    """A call of a request that is ``age`` old, which has ``waited`` here since the server had ``listened``; seconds."""

    def __init__(self, age, patience=PATIENCE, *, waited=0.0, listened=3600.0, is_reachable=True, **ctxt):
        requested = datetime.datetime.fromtimestamp(NOW - age, datetime.UTC)
        received = UPTIME - waited
        super().__init__(
            message={"method": "work", "args": {}, "version": "1.0"},
            ctxt={"timestamp": requested.replace(tzinfo=None).isoformat(), "request_id": "req-1"} | ctxt,
            client_timeout=patience,
            reply_q="reply_1",
            arrival=Arrival(received, received - listened),
            is_reachable=is_reachable,
            heartbeats=0,
        )

    def heartbeat(self):
        if not self.is_reachable:
            raise messaging.MessageDeliveryFailure("Heartbeat send failed. Missing queue")
        self.heartbeats += 1


@pytest.fixture
def make():
    def build(*, waiting=True):
        dropped, endpoint = [], Endpoint()
        dispatcher = LateCallDispatcher(
            [endpoint],
            messaging.NoOpSerializer(),
            may_wait=lambda _incoming: waiting,
            on_dropped=dropped.append,
            clock=lambda: NOW,
            monotonic=lambda: UPTIME,
        )
        return SimpleNamespace(dispatcher=dispatcher, dropped=dropped, endpoint=endpoint)

    return build


@pytest.mark.parametrize(
    ("message", "waiting"),
    [
        (Message(5, listened=1), False),  # the caller cannot have given up yet
        (Message(PATIENCE + 1), True),  # an old request, of which this call is a late step
        (Message(PATIENCE + 1, waited=PATIENCE - 1), True),
        (Message(9999, patience=None, listened=1), False),  # a cast, or no monitoring caller
        (Message(9999, timestamp=None), False),
        (Message(9999, timestamp="yesterday"), False),
    ],
)
def test_call_of_a_caller_that_may_wait_is_served(make, message, waiting):
    parts = make(waiting=waiting)
    assert parts.dispatcher.dispatch(message) == "done"
    assert parts.dropped == []


@pytest.mark.parametrize(
    ("message", "waiting"),
    [
        (Message(PATIENCE + 1), False),
        (Message(PATIENCE + 1, listened=PATIENCE / 2), True),
        # Given a server that began to listen before the caller gave up, and came to the call after
        (Message(PATIENCE + 1, listened=PATIENCE / 2, waited=PATIENCE - 1), True),
        (Message(PATIENCE + 1, waited=PATIENCE), True),
        (Message(0, waited=PATIENCE, timestamp=None), True),
        (Message(PATIENCE / 2, waited=PATIENCE / 2, is_reachable=False), True),
    ],
)
def test_call_of_a_caller_that_has_gone_is_dropped_and_counted(make, message, waiting):
    parts = make(waiting=waiting)
    with pytest.raises(messaging.ExpectedException) as caught:
        parts.dispatcher.dispatch(message)
    assert isinstance(caught.value.exc_info[1], errors.DeadlinePassed)
    assert parts.endpoint.calls == 0
    assert parts.dropped == ["work"]


@pytest.mark.parametrize(("waited", "heartbeats"), [(1, 0), (PATIENCE / 2, 1)])
def test_call_that_has_waited_gets_a_heartbeat_before_it_is_served(make, waited, heartbeats):
    message = Message(waited, waited=waited)
    make().dispatcher.dispatch(message)
    assert message.heartbeats == heartbeats


def test_time_with_a_zone_is_understood(make):
    aware = datetime.datetime.fromtimestamp(NOW - 5, datetime.timezone(datetime.timedelta(hours=5))).isoformat()
    assert make(waiting=False).dispatcher.dispatch(Message(0, timestamp=aware)) == "done"
