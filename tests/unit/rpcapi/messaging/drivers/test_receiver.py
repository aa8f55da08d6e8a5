# SPDX-License-Identifier: Apache-2.0
"""The receiver's loop, run step by step on a scripted channel."""

import time
from typing import Any

import oslo_messaging
import pytest
import redis

from rpcapi.messaging.drivers import wire
from rpcapi.messaging.drivers.errors import BusRefused
from tests.unit.rpcapi.messaging.drivers.receiver_bench import Bench, Listener, encoded


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


def inbox(bench: Bench, sender: str) -> str:
    (key,) = (key for key in bench.inboxes() if f":inbox:{sender}:" in key)
    return key


def request(seconds: float = 60.0, fanout: str | None = None) -> wire.WireRequest:
    return wire.WireRequest({}, {"method": "m"}, time.time() + seconds, fanout=fanout, id="id")


def test_inbox_and_queues_of_open_listeners_are_read(bench: Bench) -> None:
    busy, idle = Listener("scheduler"), Listener("conductor")
    for listener in (busy, idle):
        bench.receiver.add(listener)  # type: ignore[arg-type]
    bench.step()
    both = {*bench.inboxes(), *busy.listen_target.topic_queues, *idle.listen_target.topic_queues}
    assert set(bench.channel.queues) == both, "servers' queues have their bells in the inboxes"
    assert set(bench.receiver._server_queues) == {*busy.listen_target.server_queues, *idle.listen_target.server_queues}
    busy.open = False
    bench.receiver.refresh_subscriptions()
    bench.step()
    assert set(bench.channel.queues) == {*bench.inboxes(), *idle.listen_target.topic_queues}
    assert set(bench.receiver._server_queues) == set(idle.listen_target.server_queues)


def test_reply_is_delivered(bench: Bench) -> None:
    bench.receive(inbox(bench, "scheduler"), wire.WireReply("m", 7))
    assert bench.replies == [(wire.WireReply("m", 7), "scheduler")]


def test_request_is_offered_to_the_listener_of_its_queue(bench: Bench) -> None:
    listener, other = Listener("scheduler"), Listener("conductor")
    for added in (listener, other):
        bench.receiver.add(added)  # type: ignore[arg-type]
    bench.receive(listener.listen_target.topic_queues[0], request())
    ((delivery),) = listener.offers
    assert (delivery.request.id, delivery.tag, other.offers) == ("id", "t", [])
    assert delivery.sender == listener.listen_target.topic_queues[0].split(":")[2]


def test_what_waits_for_a_server_is_received_when_its_listener_opens(bench: Bench) -> None:
    listener = Listener()
    bench.receiver.add(listener)  # type: ignore[arg-type]
    queue = listener.listen_target.server_queues[0]
    bench.channel.waiting[queue] = [(tag, encoded(request())) for tag in ("t1", "t2")]
    listener.open = False
    bench.step()
    assert listener.offers == []
    listener.open = True
    bench.receiver.refresh_subscriptions()
    bench.step()
    assert [(delivery.sender, delivery.tag) for delivery in listener.offers] == [
        ("conductor", "t1"),
        ("conductor", "t2"),
    ]


@pytest.mark.parametrize("body", [wire.WireReply("m", 7), "fanout"])
def test_reply_or_fanout_in_a_queue_is_foreign(bench: Bench, body: Any) -> None:
    """It would be received, never acknowledged, and redelivered for ever."""
    listener = Listener("conductor")
    bench.receiver.add(listener)  # type: ignore[arg-type]
    body = request(fanout=listener.listen_target.fanout) if body == "fanout" else body
    bench.receive(listener.listen_target.topic_queues[0], body)
    ((queue, text, why),) = bench.channel.buried
    assert (queue, text) == (listener.listen_target.topic_queues[0], encoded(body))
    assert "queues take other requests" in why
    assert (listener.offers, bench.replies, bench.channel.acknowledged) == ([], [], ["t"])


def test_request_without_a_fanout_in_an_inbox_is_foreign(bench: Bench) -> None:
    bench.receive(inbox(bench, "client"), request())
    ((queue, _, why),) = bench.channel.buried
    assert (queue, "inboxes take" in why, bench.channel.acknowledged) == (inbox(bench, "client"), True, [])


def test_expired_request_is_acknowledged_and_dropped(bench: Bench) -> None:
    listener = Listener("conductor")
    bench.receiver.add(listener)  # type: ignore[arg-type]
    bench.receive(listener.listen_target.topic_queues[0], request(seconds=-1.0))
    assert (listener.offers, bench.outbox.acknowledged) == ([], ["t"])


def test_foreign_message_is_refused(bench: Bench) -> None:
    listener = Listener("conductor")
    bench.receiver.add(listener)  # type: ignore[arg-type]
    bench.receive(listener.listen_target.topic_queues[0], '{"hello": 1}')
    assert [text for _, text, _ in bench.channel.buried] == [b'{"hello": 1}']
    assert (listener.offers, bench.replies, bench.channel.acknowledged) == ([], [], ["t"])


def test_backlog_of_an_inbox_is_delivered_at_once_and_junk_in_it_is_buried(bench: Bench) -> None:
    listener = Listener()
    bench.receiver.add(listener)  # type: ignore[arg-type]
    server_queue = listener.listen_target.server_queues[0]
    bench.step()
    bench.channel.waiting[server_queue] = [("t", encoded(request()))]
    bench.channel.has_backlog = True
    bells = [server_queue.encode(), b"gantt_bus:server:of:another:process"]
    bench.channel.backlog = [b"not JSON", *bells, encoded(wire.WireReply("second", 2))]
    bench.receive(inbox(bench, "scheduler"), wire.WireReply("first", 1))
    assert [reply.id for reply, _ in bench.replies] == ["first", "second"]
    assert [delivery.tag for delivery in listener.offers] == ["t"]
    assert [text for _, text, _ in bench.channel.buried] == [b"not JSON"]


def test_lost_connection_in_a_backlog_loses_no_other_entry(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(queue: str) -> None:
        raise redis.ConnectionError("away")

    listener = Listener()
    bench.receiver.add(listener)  # type: ignore[arg-type]
    bench.step()
    monkeypatch.setattr(bench.channel, "claim", lose)
    bench.channel.has_backlog = True
    bench.channel.backlog = [listener.listen_target.server_queues[0].encode(), encoded(wire.WireReply("second", 2))]
    with pytest.raises(redis.ConnectionError):
        bench.receive(inbox(bench, "scheduler"), wire.WireReply("first", 1))
    assert [reply.id for reply, _ in bench.replies] == ["first", "second"]


def test_list_that_was_read_is_the_last_of_the_next_read(bench: Bench) -> None:
    busy = inbox(bench, "scheduler")
    bench.receive(busy, wire.WireReply("m", 7))
    bench.step()
    assert bench.channel.queues[-1] == busy


def test_fanout_reaches_each_server_of_its_topic(bench: Bench) -> None:
    first, second, other = Listener("compute", "h1"), Listener("compute", "h2"), Listener("conductor")
    for listener in (first, second, other):
        bench.receiver.add(listener)  # type: ignore[arg-type]
    bench.receive(inbox(bench, "conductor"), request(fanout=first.listen_target.fanout))
    offers = [[(delivery.tag, delivery.sender) for delivery in listener.offers] for listener in (first, second, other)]
    assert offers == [[(None, "conductor")], [(None, "conductor")], []]


def test_memberships_and_unacknowledged_messages_are_renewed(bench: Bench) -> None:
    first, second = Listener("scheduler", "h1"), Listener("scheduler", "h2")
    first.tags, second.tags = ["t1"], ["t2", "t3"]
    for listener in (first, second):
        bench.receiver.add(listener)  # type: ignore[arg-type]
    bench.step()
    assert bench.outbox.joins[-1] == ["scheduler.h1", "scheduler.h2"]
    assert bench.channel.renewed == [["t1", "t2", "t3"]]
    assert bench.channel.restores == 1
    assert bench.channel.rung == [sorted(first.listen_target.topic_queues)]
    bench.step()
    assert bench.channel.restores == 1, "not before a third of the visibility timeout has passed"


def test_everything_is_subscribed_again_after_a_lost_connection(bench: Bench) -> None:
    bench.receiver.add(Listener())  # type: ignore[arg-type]
    bench.step()
    before = set(bench.channel.queues)
    bench.receiver._disconnect()
    bench.channel.queues.clear()
    bench.step()
    assert (set(bench.channel.queues), bench.channel.pings) == (before, 2)
    assert bench.channel.restores == 2


def test_listener_that_redis_refuses_is_not_added(bench: Bench) -> None:
    bench.outbox.join_error = BusRefused("no permission")
    listener = Listener()
    with pytest.raises(BusRefused):
        bench.receiver.add(listener)  # type: ignore[arg-type]
    bench.outbox.join_error = None
    bench.step()
    assert set(bench.channel.queues) == bench.inboxes()
    assert not bench.receiver._server_queues


def test_listener_is_added_while_redis_is_unreachable(bench: Bench) -> None:
    bench.outbox.join_error = oslo_messaging.MessageDeliveryFailure("away")
    listener = Listener()
    bench.receiver.add(listener)  # type: ignore[arg-type]
    bench.outbox.join_error = None
    bench.step()
    assert set(listener.listen_target.server_queues) == set(bench.receiver._server_queues)


def test_fanout_is_left_with_its_last_server(bench: Bench) -> None:
    first, second = Listener("compute", "h1"), Listener("compute", "h2")
    for listener in (first, second):
        bench.receiver.add(listener)  # type: ignore[arg-type]
    bench.receiver.remove(first)  # type: ignore[arg-type]
    assert bench.outbox.leaves == []
    bench.receiver.remove(second)  # type: ignore[arg-type]
    assert bench.outbox.leaves == [first.listen_target.fanout]


def test_unreachable_bus_does_not_fail_the_removal(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*args: object) -> None:
        raise redis.ConnectionError("away")

    listener = Listener()
    bench.receiver.add(listener)  # type: ignore[arg-type]
    monkeypatch.setattr(bench.outbox, "zrem", away)
    monkeypatch.setattr(bench.outbox, "wake", away)
    bench.receiver.remove(listener)  # type: ignore[arg-type]
    bench.step()
    assert set(bench.channel.queues) == bench.inboxes()
    assert not bench.receiver._server_queues
