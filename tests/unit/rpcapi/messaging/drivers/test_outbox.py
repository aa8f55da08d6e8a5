# SPDX-License-Identifier: Apache-2.0
"""Sending on the embedded bus, with a channel that fails as scripted."""

import time
from typing import Any

import oslo_messaging
import pytest
import redis

from rpcapi.conf.bus_address import RedisAddress
from rpcapi.messaging.drivers import transport, wire
from rpcapi.messaging.drivers.backoff import Backoff
from rpcapi.messaging.drivers.errors import BusRefused, MessageTooLarge
from rpcapi.messaging.drivers.outbox import Outbox
from rpcapi.messaging.drivers.redis_channel import OutgoingMessage, TransportLimits

ADDRESS = RedisAddress("h", 1, None, 0, None, None)
LIMITS = TransportLimits(
    socket_timeout=1.0,
    visibility_timeout=10,
    queue_ttl=60,
    inbox_ttl=60,
    connections=2,
    queue_length=100,
    message_bytes=10_000,
)
REQUEST = wire.WireRequest({}, {"method": "m"}, expires_at=1.0)
QUEUE = "gantt_bus:topic:admin:gantt:compute"
LOST = redis.ConnectionError("closed")


class Channel:
    """Raises or returns the next of ``answers`` in each command, else None; ``arrived``: what receipts say."""

    def __init__(self, answers: list[Any], arrived: bool = False) -> None:
        self.answers = answers
        self.arrived = arrived
        self.sent: list[OutgoingMessage] = []
        self.receipts: list[str] = []
        self.acknowledged: list[str] = []

    def _answer(self) -> Any:
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def publish(self, outgoing: OutgoingMessage) -> None:
        self.sent.append(outgoing)
        self._answer()

    def has_arrived(self, receipt: str) -> bool:
        self.receipts.append(receipt)
        return self.arrived

    def acknowledge(self, tag: str) -> Any:
        self.acknowledged.append(tag)
        return self._answer()


class Connection:
    def __init__(self) -> None:
        self.released = False

    def release(self) -> None:
        self.released = True


@pytest.fixture
def open_outbox(monkeypatch: pytest.MonkeyPatch) -> Any:
    def make(*answers: Any, arrived: bool = False) -> tuple[Outbox, Channel]:
        channel = Channel(list(answers), arrived)
        monkeypatch.setattr(transport, "connect", lambda address, limits: (Connection(), channel))
        return Outbox(ADDRESS, LIMITS, Backoff(0.0, 0.0)), channel

    return make


def soon() -> float:
    return time.monotonic() + 60


def test_request_is_sent_once_with_a_receipt(open_outbox: Any) -> None:
    outbox, channel = open_outbox()
    outbox.send(QUEUE, REQUEST, 30, soon())
    (sent,) = channel.sent
    assert (sent.queue, sent.ttl, sent.direct, sent.content_type) == (QUEUE, 30, False, "application/json")
    assert REQUEST.id in (sent.receipt or "")
    assert channel.receipts == []


@pytest.mark.parametrize(("arrived", "count"), [(True, 1), (False, 2)])
def test_request_of_unknown_outcome_is_repeated_only_if_it_has_not_arrived(
    open_outbox: Any, arrived: bool, count: int
) -> None:
    outbox, channel = open_outbox(LOST, arrived=arrived)
    outbox.send(QUEUE, REQUEST, 30, soon())
    assert len(channel.sent) == count
    assert channel.receipts == [channel.sent[0].receipt]


def test_reply_is_repeated_without_a_receipt(open_outbox: Any) -> None:
    outbox, channel = open_outbox(redis.TimeoutError("late"), redis.BusyLoadingError("loading"))
    outbox.send("gantt_bus:inbox:admin:p", wire.WireReply("m", 1), 30, soon(), direct=True)
    assert [(sent.direct, sent.receipt) for sent in channel.sent] == [(True, None)] * 3


def test_too_large_message_is_sent_once(open_outbox: Any) -> None:
    outbox, channel = open_outbox(MessageTooLarge(20, 10))
    with pytest.raises(MessageTooLarge, match=r"20 bytes is too large: \[rpc\] max_message_bytes allows 10"):
        outbox.send(QUEUE, REQUEST, 30, soon())
    assert len(channel.sent) == 1


@pytest.mark.parametrize("error", [redis.ResponseError("OOM"), redis.AuthenticationError("wrong password")])
def test_rejected_command_is_not_repeated(open_outbox: Any, error: Exception) -> None:
    outbox, channel = open_outbox(error)
    with pytest.raises(BusRefused, match=f"h:1, database 0 rejected the command: {error}"):
        outbox.send(QUEUE, REQUEST, 30, soon())
    assert len(channel.sent) == 1


def test_send_fails_after_its_deadline(open_outbox: Any) -> None:
    outbox, channel = open_outbox(*[LOST] * 3)
    with pytest.raises(oslo_messaging.MessageDeliveryFailure, match="does not answer at h:1, database 0: closed"):
        outbox.send(QUEUE, REQUEST, 30, time.monotonic())
    assert len(channel.sent) == 1


@pytest.mark.parametrize(
    ("answers", "acknowledged"),
    [
        ([True], True),
        ([False], False),  # another server received it meanwhile
        ([LOST, False], True),  # the first attempt had succeeded
        ([LOST, True], True),
    ],
)
def test_acknowledgement_of_unknown_outcome_counts_as_done(
    open_outbox: Any, answers: list[Any], acknowledged: bool
) -> None:
    outbox, channel = open_outbox(*answers)
    assert outbox.acknowledge("tag") is acknowledged
    assert channel.acknowledged == ["tag"] * len(answers)


def test_wake_is_a_direct_message_to_the_own_inbox(open_outbox: Any) -> None:
    outbox, channel = open_outbox()
    outbox.wake("gantt_bus:inbox:admin:p", 30)
    (sent,) = channel.sent
    assert (sent.queue, sent.direct, '"id": "wake"' in sent.text) == ("gantt_bus:inbox:admin:p", True, True)


def test_closed_outbox_connects_again_when_it_is_used(open_outbox: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    outbox, _ = open_outbox()
    connections: list[Connection] = []

    def connect(address: object, limits: object) -> tuple[Connection, Channel]:
        connections.append(Connection())
        return connections[-1], Channel([])

    monkeypatch.setattr(transport, "connect", connect)
    outbox.close()
    assert outbox.channel() is outbox.channel()
    outbox.close()
    outbox.channel()
    assert [connection.released for connection in connections] == [True, False]
