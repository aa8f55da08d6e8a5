# SPDX-License-Identifier: Apache-2.0
"""Receipt of messages by the bus's channel on a real Redis."""

import json
from collections.abc import Iterator

import pytest

from devstack.servers.redis import RedisServer
from rpcapi.conf import bus_address
from rpcapi.messaging.drivers import dead_letters, names, transport
from rpcapi.messaging.drivers.errors import MessageTooLarge, QueueFull
from rpcapi.messaging.drivers.names import BODIES
from rpcapi.messaging.drivers.redis_channel import (
    BELL,
    CONNECTION_ERRORS,
    MAX_REDELIVERIES,
    BusChannel,
    OutgoingMessage,
    TransportLimits,
)

QUEUE = "gantt_bus:topic:admin:unit:transport"
LIMITS = TransportLimits(
    socket_timeout=5.0,
    visibility_timeout=10,
    queue_ttl=60,
    inbox_ttl=60,
    connections=2,
    queue_length=100,
    message_bytes=10_000,
)


@pytest.fixture
def channel(redis_server: RedisServer) -> Iterator[BusChannel]:
    connection, created = transport.connect(bus_address.parse(redis_server.bus_url()), LIMITS)
    yield created
    with created.conn_or_acquire() as client:
        client.delete(QUEUE, QUEUE + BODIES, created.received_key, created.received_index_key, "gantt_bus:receipt:unit")
    connection.release()


def publish(channel: BusChannel, text: str, *, max_length: int = 100, **values: object) -> None:
    channel.publish(OutgoingMessage(QUEUE, text, "application/json", 60, max_length, **values))  # type: ignore[arg-type]


def received(channel: BusChannel) -> tuple[str, str] | None:
    """Receive the oldest message; return its text and delivery tag."""
    claim = channel.claim(QUEUE)
    return claim and (json.loads(claim[1])["body"], claim[0])


def test_oldest_message_is_received_first_and_recorded_until_it_is_acknowledged(channel: BusChannel) -> None:
    for text in ("first", "second"):
        publish(channel, text)
    text, tag = received(channel) or ("", "")
    assert text == "first"
    assert channel.acknowledge(tag) is True
    assert channel.acknowledge(tag) is False, "it was received by another server meanwhile, or acknowledged before"
    assert (received(channel) or ("",))[0] == "second"
    assert received(channel) is None


@pytest.mark.parametrize("direct", [False, True])
def test_full_queue_refuses_a_message_and_stays_as_it_is(channel: BusChannel, direct: bool) -> None:
    for text in ("first", "second"):
        publish(channel, text, direct=direct, max_length=2)
    with channel.conn_or_acquire() as client:
        client.expire(QUEUE, 1000)
        before = client.llen(QUEUE), client.lrange(QUEUE + BODIES, 0, -1)
        with pytest.raises(QueueFull, match=f"{QUEUE} has 2 messages"):
            publish(channel, "third", direct=direct, max_length=2, receipt="gantt_bus:receipt:unit")
        assert (client.llen(QUEUE), client.lrange(QUEUE + BODIES, 0, -1)) == before
        assert client.ttl(QUEUE) > 60, "unchanged"
        assert not client.exists("gantt_bus:receipt:unit")


def test_requeued_message_is_the_next_again(channel: BusChannel) -> None:
    for text in ("first", "second"):
        publish(channel, text)
    first = received(channel)
    channel.requeue((first or ("", ""))[1])
    assert received(channel) == first


def test_message_that_was_not_renewed_is_restored(channel: BusChannel) -> None:
    for text in ("abandoned", "renewed"):
        publish(channel, text)
    abandoned, renewed = received(channel), received(channel)
    assert abandoned and renewed
    with channel.conn_or_acquire() as client:  # as if both had been received long ago
        client.zadd(channel.received_index_key, {abandoned[1]: 1.0, renewed[1]: 1.0})
    channel.renew([renewed[1]])
    channel.restore_abandoned()
    assert received(channel) == abandoned
    assert received(channel) is None


def abandon(channel: BusChannel) -> None:
    """Restore what is received, as if it had been received long ago."""
    with channel.conn_or_acquire() as client:
        for tag in client.zrange(channel.received_index_key, 0, -1):
            client.zadd(channel.received_index_key, {tag: 1.0})
    channel.restore_abandoned()


def test_message_whose_receivers_are_lost_is_a_dead_letter_after_two_redeliveries(channel: BusChannel) -> None:
    publish(channel, "poison")
    first = received(channel)
    for _ in range(MAX_REDELIVERIES):
        abandon(channel)
        assert received(channel) == first
    abandon(channel)
    assert received(channel) is None
    with channel.conn_or_acquire() as client:
        assert not client.hlen(channel.received_key)
        letter = dead_letters.read(client, ["admin"])[0]
        client.lpop("gantt_bus:dead_letters:admin")
    assert (letter.queue, "poison" in letter.text) == (QUEUE, True)
    assert "3 receivers in turn ended or hung" in letter.reason


def test_message_that_a_receiver_returns_is_not_counted(channel: BusChannel) -> None:
    publish(channel, "x")
    first = received(channel)
    for _ in range(2 * MAX_REDELIVERIES):
        channel.requeue((first or ("", ""))[1])
        assert received(channel) == first


def test_message_may_be_as_large_as_allowed_and_is_redelivered(channel: BusChannel) -> None:
    publish(channel, "")
    with channel.conn_or_acquire() as client:
        room = LIMITS.message_bytes - len(client.lpop(QUEUE + BODIES))
    with pytest.raises(MessageTooLarge, match="10001 bytes is too large"):
        publish(channel, "x" * (room + 1))
    publish(channel, "x" * room)
    first = received(channel)
    abandon(channel)
    assert received(channel) == first == ("x" * room, (first or ("", ""))[1])


def test_larger_entries_of_an_inbox_are_not_returned(channel: BusChannel) -> None:
    large = b"x" * (LIMITS.message_bytes + 1)
    with channel.conn_or_acquire() as client:
        client.lpush(QUEUE, b"first", large, b"last")
        assert channel.take(QUEUE) == [b"first", b"last"]
        letter = dead_letters.read(client, ["admin"])[0]
        client.lpop("gantt_bus:dead_letters:admin")
    assert (letter.queue, letter.size, len(letter.text)) == (QUEUE, len(large), dead_letters.MAX_TEXT)


def test_entries_of_an_inbox_are_returned_at_once_up_to_the_size_of_one_message(channel: BusChannel) -> None:
    entry = b"x" * (LIMITS.message_bytes // 2)
    with channel.conn_or_acquire() as client:
        client.lpush(QUEUE, *[entry] * 10)
        assert channel.take(QUEUE) == [entry] * 3
        assert client.llen(QUEUE) == 7


def test_lost_bells_are_replaced_one_for_each_body(channel: BusChannel) -> None:
    for text in ("first", "second"):
        publish(channel, text)
    with channel.conn_or_acquire() as client:
        client.delete(QUEUE)
        for _ in range(2):
            channel.ring([QUEUE])
            assert [int(bell) for bell in client.lrange(QUEUE, 0, -1)] == [BELL, BELL]


def test_queues_expire(channel: BusChannel) -> None:
    publish(channel, "x")
    with channel.conn_or_acquire() as client:
        assert 0 < client.ttl(QUEUE) <= 60
        assert 0 < client.ttl(QUEUE + BODIES) <= 60


def test_direct_message_is_in_the_list_itself(channel: BusChannel) -> None:
    publish(channel, "x", direct=True)
    with channel.conn_or_acquire() as client:
        assert (client.llen(QUEUE), client.exists(QUEUE + BODIES)) == (1, 0)


def test_receipt_exists_once_the_message_has_arrived(channel: BusChannel) -> None:
    assert not channel.has_arrived("gantt_bus:receipt:unit")
    publish(channel, "x", receipt="gantt_bus:receipt:unit")
    assert channel.has_arrived("gantt_bus:receipt:unit")


def test_unreachable_redis_raises_at_once() -> None:
    address = bus_address.parse("gantt+redis:///0?socket=/nowhere/redis.sock")
    with pytest.raises(CONNECTION_ERRORS):
        transport.connect(address, LIMITS)


def test_bell_of_a_server_is_in_the_inbox_of_its_process(channel: BusChannel) -> None:
    queue, process_key = "gantt_bus:server:admin:unit:transport:h1", "gantt_bus:process:unit:transport:h1"
    message = OutgoingMessage(queue, "x", "application/json", 60, 100, process_key=process_key)
    inbox = "gantt_bus:inbox:admin:compute:p"
    with channel.conn_or_acquire() as client:
        client.delete(inbox, process_key, queue + BODIES)
        channel.publish(message)
        assert not client.exists(inbox), "no process reads the queue"
        client.set(process_key, "compute:p", ex=60)
        channel.publish(message)
        assert [json.loads(bell) for bell in client.lrange(inbox, 0, -1)] == [queue]
        assert 0 < client.ttl(inbox) <= LIMITS.inbox_ttl
        assert not client.exists(queue), "there is no list of bells"
        assert channel.nonempty([QUEUE, queue]) == [queue]
        client.delete(inbox, process_key, queue + BODIES)


def test_backlog_of_an_inbox_is_read_at_once_and_junk_in_it_is_buried(
    channel: BusChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox, key = "gantt_bus:inbox:admin:admin:backlog", names.dead_letters("admin")
    received: list[str] = []
    channel.basic_consume(
        inbox, no_ack=True, callback=lambda message: received.append(message.body.decode()), consumer_tag="t"
    )
    monkeypatch.setattr(channel, "has_backlog", lambda: True)
    with channel.conn_or_acquire() as client:
        client.delete(inbox)
        letters = client.llen(key)
        for text in ("first", "second"):
            channel.publish(OutgoingMessage(inbox, text, "application/json", 60, 100, direct=True))
        client.lpush(inbox, "not JSON", json.dumps("gantt_bus:server:of:another:process"))
        channel.publish(OutgoingMessage(inbox, "third", "application/json", 60, 100, direct=True))
        channel.connection._deliver(json.loads(client.rpop(inbox)), inbox)
        assert not client.exists(inbox)
        assert client.llen(key) == min(letters + 1, dead_letters.MAX_LETTERS)
        client.lpop(key)
    assert received == ["first", "second", "third"]


def test_bell_that_is_read_while_the_transport_closes_leaves_its_message(channel: BusChannel) -> None:
    publish(channel, "work")
    closing, channels = channel.connection, channel.connection.channels
    closing.channels = []
    try:
        closing._deliver(BELL, QUEUE)
    finally:
        closing.channels = channels
    claim = received(channel)
    assert claim is not None and claim[0] == "work"
