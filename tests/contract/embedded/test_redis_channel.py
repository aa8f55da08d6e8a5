# SPDX-License-Identifier: Apache-2.0
"""Receipt of messages by the bus's channel on a real Redis."""

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest

from devstack.servers.redis import RedisServer
from rpcapi.conf import transport
from rpcapi.messaging.drivers import dead_letters
from rpcapi.messaging.drivers.errors import MessageTooLarge, QueueFull
from rpcapi.messaging.drivers.redis_channel import (
    BACKLOG_SECONDS,
    BELL,
    CONNECTION_ERRORS,
    LUA,
    MAX_REDELIVERIES,
    BusChannel,
    BusLimits,
)
from rpcapi.messaging.drivers.redis_keys import BODIES

QUEUE = "gantt_bus:topic:admin:unit:transport"
INBOX = "gantt_bus:inbox:admin:compute:p"
LIMITS = BusLimits(
    prefetch=8,
    socket_timeout=5.0,
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


@pytest.fixture
def channel(redis_server: RedisServer) -> Iterator[BusChannel]:
    created = BusChannel(transport.parse_redis_url(redis_server.bus_url()), LIMITS)
    yield created
    keys = (QUEUE, QUEUE + BODIES, INBOX, created.received_key, created.received_index_key, "gantt_bus:receipt:unit")
    created.client.delete(*keys)
    created.close()


def received(channel: BusChannel) -> tuple[str, str] | None:
    """Receive the oldest message; return its text and delivery tag."""
    claim = channel.claim(QUEUE)
    return claim and (claim[1].decode(), claim[0])


def take_letter(channel: BusChannel) -> dead_letters.DeadLetter:
    """Remove and return the newest dead letter."""
    letter = dead_letters.read(channel.client, ["admin"])[0]
    channel.client.lpop("gantt_bus:dead_letters:admin")
    return letter


def test_oldest_message_is_received_first_and_recorded_until_it_is_acknowledged(channel: BusChannel) -> None:
    for text in ("first", "second"):
        channel.publish(QUEUE, text)
    text, tag = received(channel) or ("", "")
    assert text == "first"
    assert channel.acknowledge(tag) is True
    assert channel.acknowledge(tag) is False, "it was received by another server meanwhile, or acknowledged before"
    assert (received(channel) or ("",))[0] == "second"
    assert received(channel) is None


@pytest.mark.parametrize(("queue", "messages"), [(QUEUE, QUEUE + BODIES), (INBOX, INBOX)])
def test_full_queue_refuses_a_message_and_stays_as_it_is(channel: BusChannel, queue: str, messages: str) -> None:
    channel.limits = replace(LIMITS, max_queue_length=2)
    for text in ("first", "second"):
        channel.publish(queue, text)
    channel.client.expire(queue, 1000)
    before = channel.client.llen(queue), channel.client.lrange(messages, 0, -1)
    with pytest.raises(QueueFull, match=f"{queue} has 2 messages"):
        channel.publish(queue, "third", receipt="gantt_bus:receipt:unit")
    assert (channel.client.llen(queue), channel.client.lrange(messages, 0, -1)) == before
    assert channel.client.ttl(queue) > 60, "unchanged"
    assert not channel.client.exists("gantt_bus:receipt:unit")


def test_requeued_message_is_the_next_again(channel: BusChannel) -> None:
    for text in ("first", "second"):
        channel.publish(QUEUE, text)
    first = received(channel)
    channel.requeue((first or ("", ""))[1])
    assert received(channel) == first


def test_message_that_was_not_renewed_is_restored(channel: BusChannel) -> None:
    for text in ("abandoned", "renewed"):
        channel.publish(QUEUE, text)
    abandoned, renewed = received(channel), received(channel)
    assert abandoned and renewed
    # as if both had been received long ago
    channel.client.zadd(channel.received_index_key, {abandoned[1]: 1.0, renewed[1]: 1.0})
    channel.renew([renewed[1]])
    channel.restore_abandoned()
    assert received(channel) == abandoned
    assert received(channel) is None


def abandon(channel: BusChannel) -> None:
    """Restore what is received, as if it had been received long ago."""
    for tag in channel.client.zrange(channel.received_index_key, 0, -1):
        channel.client.zadd(channel.received_index_key, {tag: 1.0})
    channel.restore_abandoned()


def test_message_whose_receivers_are_lost_is_a_dead_letter_after_two_redeliveries(channel: BusChannel) -> None:
    channel.publish(QUEUE, "poison")
    first = received(channel)
    for _ in range(MAX_REDELIVERIES):
        abandon(channel)
        assert received(channel) == first
    abandon(channel)
    assert received(channel) is None
    assert not channel.client.hlen(channel.received_key)
    letter = take_letter(channel)
    assert (letter.queue, "poison" in letter.text) == (QUEUE, True)
    assert "3 receivers ended or hung in turn" in letter.reason


def test_message_that_a_receiver_returns_is_not_counted(channel: BusChannel) -> None:
    channel.publish(QUEUE, "x")
    first = received(channel)
    for _ in range(2 * MAX_REDELIVERIES):
        channel.requeue((first or ("", ""))[1])
        assert received(channel) == first


def test_message_may_be_as_large_as_allowed_and_is_redelivered(channel: BusChannel) -> None:
    channel.publish(QUEUE, "")
    room = LIMITS.max_message_bytes - len(channel.client.lpop(QUEUE + BODIES))
    with pytest.raises(MessageTooLarge, match="10001 bytes is too large"):
        channel.publish(QUEUE, "x" * (room + 1))
    channel.publish(QUEUE, "x" * room)
    first = received(channel)
    abandon(channel)
    assert received(channel) == first == ("x" * room, (first or ("", ""))[1])


def test_larger_entries_of_an_inbox_are_not_returned(channel: BusChannel) -> None:
    large = b"x" * (LIMITS.max_message_bytes + 1)
    channel.client.lpush(QUEUE, b"first", large, b"last")
    assert channel.take(QUEUE) == [b"first", b"last"]
    letter = take_letter(channel)
    assert (letter.queue, letter.size, len(letter.text)) == (QUEUE, len(large), dead_letters.MAX_TEXT)


def test_entries_of_an_inbox_are_returned_at_once_up_to_the_size_of_one_message(channel: BusChannel) -> None:
    entry = b"x" * (LIMITS.max_message_bytes // 2)
    channel.client.lpush(QUEUE, *[entry] * 10)
    assert channel.take(QUEUE) == [entry] * 3
    assert channel.client.llen(QUEUE) == 7


def test_lost_bells_are_replaced_one_for_each_body(channel: BusChannel) -> None:
    for text in ("first", "second"):
        channel.publish(QUEUE, text)
    channel.client.delete(QUEUE)
    for _ in range(2):
        channel.ring([QUEUE])
        assert channel.client.lrange(QUEUE, 0, -1) == [BELL.encode()] * 2


def test_queues_expire(channel: BusChannel) -> None:
    channel.publish(QUEUE, "x")
    assert 0 < channel.client.ttl(QUEUE) <= 60
    assert 0 < channel.client.ttl(QUEUE + BODIES) <= 60


def test_message_to_an_inbox_is_in_the_list_itself(channel: BusChannel) -> None:
    channel.publish(INBOX, "x")
    assert channel.client.lrange(INBOX, 0, -1) == [b"x"]
    assert not channel.client.exists(INBOX + BODIES)


def test_receipt_exists_once_the_message_has_arrived(channel: BusChannel) -> None:
    assert not channel.has_arrived("gantt_bus:receipt:unit")
    channel.publish(QUEUE, "x", receipt="gantt_bus:receipt:unit")
    assert channel.has_arrived("gantt_bus:receipt:unit")


def test_unreachable_redis_raises_at_once() -> None:
    channel = BusChannel(transport.parse_redis_url("gantt+redis:///0?socket=/nowhere/redis.sock"), LIMITS)
    with pytest.raises(CONNECTION_ERRORS):
        channel.client.ping()


def test_bell_of_a_server_is_in_the_inbox_of_its_process(channel: BusChannel) -> None:
    queue, process_key = "gantt_bus:server:admin:unit:transport:h1", "gantt_bus:process:unit:transport:h1"
    channel.client.delete(process_key, queue + BODIES)
    channel.publish(queue, "x", process_key)
    assert not channel.client.exists(INBOX), "no process reads the queue"
    channel.client.set(process_key, "compute:p", ex=60)
    channel.publish(queue, "x", process_key)
    assert channel.client.lrange(INBOX, 0, -1) == [queue.encode()]
    assert 0 < channel.client.ttl(INBOX) <= LIMITS.reply_ttl
    assert not channel.client.exists(queue), "there is no list of bells"
    assert channel.nonempty([QUEUE, queue]) == [queue]
    channel.client.delete(process_key, queue + BODIES)


def test_read_returns_the_next_entry_and_whether_more_probably_wait(
    channel: BusChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rpcapi.messaging.drivers.redis_channel.BACKLOG_SECONDS", 60.0)
    channel.publish(INBOX, "reply")
    channel.publish(QUEUE, "request")
    assert channel.read([INBOX, QUEUE]) == (INBOX, b"reply", True)
    assert channel.read([INBOX, QUEUE]) == (QUEUE, BELL.encode(), False)
    monkeypatch.setattr("rpcapi.messaging.drivers.redis_channel.POLL_SECONDS", 100 * BACKLOG_SECONDS)
    assert channel.read([INBOX, QUEUE]) is None


def test_larger_entry_of_an_inbox_is_not_read(channel: BusChannel) -> None:
    channel.client.lpush(INBOX, b"x" * (LIMITS.max_message_bytes + 1))
    assert channel.read([INBOX]) is None
    assert take_letter(channel).queue == INBOX


def test_each_script_is_used(channel: BusChannel) -> None:
    used = {script.script for script in vars(channel).values() if hasattr(script, "script")}
    assert used == {file.read_text() for file in LUA.glob("*.lua")}


def test_pauses_double_up_to_the_longest() -> None:
    limits = replace(LIMITS, reconnect_backoff=0.5, reconnect_backoff_max=3)
    assert list(itertools.islice(limits.pauses(), 5)) == [0.5, 1, 2, 3, 3]
    assert list(itertools.islice(replace(limits, reconnect_backoff=9).pauses(), 2)) == [3, 3]
