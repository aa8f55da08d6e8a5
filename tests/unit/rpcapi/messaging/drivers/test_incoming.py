# SPDX-License-Identifier: Apache-2.0
"""A received request as oslo.messaging's server sees it."""

import sys
import time
from typing import Any

import oslo_messaging
import pytest
from oslo_messaging._drivers import common

from rpcapi.messaging.drivers import wire
from rpcapi.messaging.drivers.errors import BusRefused, MessageTooLarge
from rpcapi.messaging.drivers.listener import BusIncoming, Delivery


class Outbox:
    """Records what is sent; raises ``errors`` one after the other."""

    user = "conductor"
    send_timeout = 10.0

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.sent: list[tuple[str, Any]] = []
        self.deadlines: list[float] = []

    def send(self, queue: str, body: Any, deadline: float) -> None:
        self.deadlines.append(deadline)
        if self.errors:
            raise self.errors.pop(0)
        self.sent.append((queue, body))


def incoming(
    outbox: Outbox, tag: str | None = "t", reply_to: str | None = "0f" * 16, monitor: float | None = None
) -> Any:
    request = wire.WireRequest(
        {"c": 1, "sender": "operator"}, {"method": "m"}, time.time() + 60, reply_to, monitor, id="id"
    )
    begun: list[Delivery] = []
    created: Any = BusIncoming(Delivery(request, "client", tag), outbox, begun.append)  # type: ignore[arg-type]
    created.begun = begun
    return created


REPLY_TO = "0f" * 16
INBOX = f"gantt_bus:inbox:conductor:client:{REPLY_TO}"


def test_request_is_handed_over_with_its_sender_whatever_the_body_says() -> None:
    created = incoming(Outbox(), monitor=5.0)
    assert (created.ctxt, created.message, created.msg_id, created.client_timeout) == (
        {"c": 1, "sender": "client"},
        {"method": "m"},
        "id",
        5.0,
    )
    created.acknowledge()
    assert [delivery.tag for delivery in created.begun] == ["t"]


def test_reply_goes_to_the_inbox_of_the_caller() -> None:
    outbox = Outbox()
    before = time.monotonic()
    incoming(outbox).reply({"a": 1})
    assert outbox.sent == [(INBOX, wire.WireReply("id", {"a": 1}))]
    assert before + 10 <= outbox.deadlines[0] <= time.monotonic() + 10


def test_cast_gets_no_reply() -> None:
    outbox = Outbox()
    created = incoming(outbox, reply_to=None)
    created.reply("x")
    created.heartbeat()
    assert outbox.sent == []


def test_failure_is_sent_with_its_type() -> None:
    outbox = Outbox()
    try:
        raise KeyError("x")
    except KeyError:
        incoming(outbox).reply(failure=sys.exc_info())
    ((_, reply),) = outbox.sent
    with pytest.raises(KeyError):
        raise common.deserialize_remote_exception(reply.failure, ["builtins"])


@pytest.mark.parametrize("error", [TypeError("not serialisable"), ValueError("circular")])
def test_reply_that_cannot_be_sent_is_replaced_by_its_error(error: Exception) -> None:
    outbox = Outbox(error)
    incoming(outbox).reply("x")
    ((_, reply),) = outbox.sent
    assert reply.result is None
    assert type(error).__name__ in reply.failure


def test_reply_that_is_too_large_is_left_to_the_server() -> None:
    outbox = Outbox(MessageTooLarge(20, 10))
    with pytest.raises(MessageTooLarge):
        incoming(outbox).reply("x")
    assert outbox.sent == []


@pytest.mark.parametrize("error", [BusRefused("no"), oslo_messaging.MessageDeliveryFailure("away")])
def test_reply_lost_by_an_outage_is_logged(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    incoming(Outbox(error)).reply("x")
    assert "Lost the reply to id" in caplog.text


def test_heartbeat_does_not_end_the_call_and_may_take_the_monitored_time() -> None:
    outbox = Outbox()
    before = time.monotonic()
    incoming(outbox, monitor=5.0).heartbeat()
    ((queue, reply),) = outbox.sent
    assert (queue, reply.ending) == (INBOX, False)
    assert before + 5 <= outbox.deadlines[0] <= time.monotonic() + 5
