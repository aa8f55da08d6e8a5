# SPDX-License-Identifier: Apache-2.0
"""Sending on the embedded bus, with a channel that fails as scripted."""

import time
from typing import Any

import oslo_messaging
import pytest
import redis

from rpcapi.conf.transport import RedisAddress
from rpcapi.messaging.drivers import wire
from rpcapi.messaging.drivers.errors import BusRefused, MessageTooLarge
from rpcapi.messaging.drivers.outbox import Outbox
from rpcapi.messaging.drivers.redis_channel import BusLimits

LIMITS = BusLimits(
    prefetch=8,
    socket_timeout=1.0,
    send_timeout=10.0,
    visibility_timeout=10,
    request_ttl=60,
    reply_ttl=60,
    max_connections=2,
    max_queue_length=100,
    max_message_bytes=10_000,
    reconnect_backoff=0.0,
    reconnect_backoff_max=0.0,
)
REQUEST = wire.WireRequest({}, {"method": "m"}, expires_at=1.0)
QUEUE = "gantt_bus:topic:admin:gantt:compute"
LOST = redis.ConnectionError("closed")


class Channel:
    """Raises or returns the next of ``answers`` in each command, else None; ``arrived``: what receipts say."""

    user = "admin"
    address = RedisAddress("h", 1, None, 0, None, None)
    limits = LIMITS

    def __init__(self, answers: list[Any], arrived: bool = False) -> None:
        self.answers = answers
        self.arrived = arrived
        self.sent: list[tuple[str, str, str | None]] = []  # queue, text and receipt
        self.receipts: list[str] = []
        self.acknowledged: list[str] = []

    def _answer(self) -> Any:
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def publish(self, queue: str, text: str, process_key: str | None = None, receipt: str | None = None) -> None:
        self.sent.append((queue, text, receipt))
        self._answer()

    def has_arrived(self, receipt: str) -> bool:
        self.receipts.append(receipt)
        return self.arrived

    def acknowledge(self, tag: str) -> Any:
        self.acknowledged.append(tag)
        return self._answer()


def open_outbox(*answers: Any, arrived: bool = False) -> tuple[Outbox, Channel]:
    channel: Any = Channel(list(answers), arrived)
    return Outbox(channel), channel


def soon() -> float:
    return time.monotonic() + 60


def test_request_is_sent_once_with_a_receipt() -> None:
    outbox, channel = open_outbox()
    outbox.send(QUEUE, REQUEST, soon())
    ((queue, text, receipt),) = channel.sent
    assert (queue, wire.decode(text.encode())) == (QUEUE, REQUEST)
    assert REQUEST.id in (receipt or "")
    assert channel.receipts == []


@pytest.mark.parametrize(("arrived", "count"), [(True, 1), (False, 2)])
def test_request_of_unknown_outcome_is_repeated_only_if_it_has_not_arrived(arrived: bool, count: int) -> None:
    outbox, channel = open_outbox(LOST, arrived=arrived)
    outbox.send(QUEUE, REQUEST, soon())
    assert len(channel.sent) == count
    assert channel.receipts == [channel.sent[0][2]]


def test_reply_is_repeated_without_a_receipt() -> None:
    outbox, channel = open_outbox(redis.TimeoutError("late"), redis.BusyLoadingError("loading"))
    outbox.send("gantt_bus:inbox:admin:p", wire.WireReply("m", 1), soon())
    assert [receipt for _, _, receipt in channel.sent] == [None] * 3


def test_too_large_message_is_sent_once() -> None:
    outbox, channel = open_outbox(MessageTooLarge(20, 10))
    with pytest.raises(MessageTooLarge, match=r"20 bytes is too large; \[rpc\] max_message_bytes allows 10"):
        outbox.send(QUEUE, REQUEST, soon())
    assert len(channel.sent) == 1


@pytest.mark.parametrize("error", [redis.ResponseError("OOM"), redis.AuthenticationError("wrong password")])
def test_rejected_command_is_not_repeated(error: Exception) -> None:
    outbox, channel = open_outbox(error)
    with pytest.raises(BusRefused, match=f"h:1, database 0 rejected the command: {error}"):
        outbox.send(QUEUE, REQUEST, soon())
    assert len(channel.sent) == 1


def test_send_fails_after_its_deadline() -> None:
    outbox, channel = open_outbox(*[LOST] * 3)
    with pytest.raises(oslo_messaging.MessageDeliveryFailure, match="does not answer at h:1, database 0: closed"):
        outbox.send(QUEUE, REQUEST, time.monotonic())
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
def test_acknowledgement_of_unknown_outcome_counts_as_done(answers: list[Any], acknowledged: bool) -> None:
    outbox, channel = open_outbox(*answers)
    assert outbox.acknowledge("tag") is acknowledged
    assert channel.acknowledged == ["tag"] * len(answers)


def test_wake_is_a_message_to_the_own_inbox() -> None:
    outbox, channel = open_outbox()
    outbox.wake("gantt_bus:inbox:admin:p")
    ((queue, text, receipt),) = channel.sent
    assert (queue, '"id": "wake"' in text, receipt) == ("gantt_bus:inbox:admin:p", True, None)
