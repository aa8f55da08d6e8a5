# SPDX-License-Identifier: Apache-2.0
"""Senders on RabbitMQ: what producers add, what listeners and readers of replies believe."""

import logging
from types import SimpleNamespace

import pytest
from oslo_messaging._drivers import common

from rpcapi.messaging.drivers import rabbit_senders
from rpcapi.messaging.drivers.rabbit_listening import RabbitListener, RabbitReplyWaiter, expect_reply_of


class Message(dict):
    """A fake of the driver's message."""

    def __init__(self, values, **properties):
        super().__init__(values)
        self._raw_message = SimpleNamespace(properties=properties)
        self.acknowledged = 0

    def acknowledge(self):
        self.acknowledged += 1


class Connection:
    """A fake of the driver's connection that receives nothing."""

    def declare_direct_consumer(self, topic, callback):
        """Accept."""

    def stop_consuming(self):
        """Accept."""

    def consume(self, timeout):
        raise common.Timeout


def test_messages_carry_the_user_of_their_connection(monkeypatch):
    published = []
    stock = rabbit_senders.Producer
    monkeypatch.setattr(stock, "publish", lambda _self, body, **values: published.append(values))
    rabbit_senders.UserProducer(None, "conductor", 1000).publish({}, routing_key="k")
    rabbit_senders.UserProducer(None, None, 1000).publish({}, routing_key="k")
    assert [values["user_id"] for values in published] == ["conductor", "guest"]


@pytest.mark.parametrize("properties", [{"user_id": "gantt-compute.h1"}, {}])
def test_listener_believes_nothing_in_the_body(properties):
    listener = RabbitListener(SimpleNamespace(prefetch_size=1), conn=None)
    listener(Message({"_context_sender": "conductor", "_unique_id": "u", "method": "m"}, **properties))
    assert listener.incoming[0].ctxt["sender"] == properties.get("user_id")
    assert "_context_sender" not in listener.incoming[0].message


@pytest.fixture
def waiter(monkeypatch):
    monkeypatch.setattr(RabbitReplyWaiter, "poll", lambda _self: None)
    return RabbitReplyWaiter("replies", Connection(), [])


def reply(msg_id, **properties):
    values = {"_msg_id": msg_id, "result": 1, "failure": None, "ending": True, "_unique_id": f"{msg_id}{properties}"}
    return Message(values, **properties)


def test_reply_of_another_user_is_dropped_and_logged_once(waiter, caplog):
    caplog.set_level(logging.WARNING)
    # Given: a call that only the conductor may answer
    with expect_reply_of(lambda user: user == "conductor"):
        waiter.listen("m1")
    # When: others answer first, then the conductor
    forgeries = [reply("m1", user_id="gantt-compute.h1"), reply("m1", user_id="gantt-compute.h1"), reply("m1")]
    for forgery in forgeries:
        waiter(forgery)
        assert forgery.acknowledged == 1
    assert waiter.waiters._queues["m1"].empty()
    waiter(reply("m1", user_id="conductor"))
    # Then: only its reply is read
    assert waiter.wait("m1", 1, None, "replies") == 1
    assert len(caplog.records) == 2


def test_expectations_end_with_their_call(waiter):
    with expect_reply_of(lambda user: False):
        waiter.listen("m1")
    waiter.unlisten("m1")
    waiter.listen("m1")
    waiter(reply("m1"))
    assert waiter.wait("m1", 1, None, "replies") == 1
