# SPDX-License-Identifier: Apache-2.0
"""The driver of the embedded bus, without Redis."""

import time
from types import SimpleNamespace
from typing import Any

import oslo_messaging
import pytest
from oslo_config import cfg
from oslo_messaging import Target
from oslo_messaging.server import ServerListenError

from rpcapi.messaging import bus
from rpcapi.messaging.drivers import errors as bus_errors
from rpcapi.messaging.drivers import wire


def test_embedded_bus_is_loaded_by_its_entry_point(conf: cfg.ConfigOpts) -> None:
    transport = bus.get_transport(conf, "gantt+redis:///0?socket=/nowhere/redis.sock")
    assert type(transport._driver).__module__ == "rpcapi.messaging.drivers.redis_bus"


class Outbox:
    """Records what is sent; ``error`` is raised by each send."""

    user = "admin"
    send_timeout = 10.0

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.sent: list[tuple[str, Any]] = []
        self.deadlines: list[float] = []

    def send(self, queue: str, body: Any, deadline: float, process_key: str | None = None) -> None:
        self.deadlines.append(deadline)
        if self.error is not None:
            raise self.error
        self.sent.append((queue, body))

    def retry(self, action: Any, deadline: float) -> Any:
        return action()

    def members(self, fanout: str) -> list[str]:
        return ["compute:a", "compute:b"]


@pytest.fixture
def driver(conf: cfg.ConfigOpts) -> Any:
    created: Any = bus.get_transport(conf, "gantt+redis:///0?socket=/nowhere/redis.sock")._driver
    created._outbox = Outbox()
    created._receiver = SimpleNamespace(reply_to="inbox", start=lambda: None)
    return created


@pytest.mark.parametrize(
    ("target", "queue"),
    [
        (Target(topic="compute"), "gantt_bus:topic:admin:gantt:compute"),
        (Target(topic="compute", server="h1"), "gantt_bus:server:admin:gantt:compute:h1"),
        (Target(topic="compute", exchange="other"), "gantt_bus:topic:admin:other:compute"),
    ],
)
def test_cast_goes_to_the_queue_of_its_target(driver: Any, target: Target, queue: str) -> None:
    driver.send(target, {"c": 1}, {"method": "m"})
    ((sent_queue, request),) = driver._outbox.sent
    assert (sent_queue, request.ctxt, request.message, request.reply_to) == (queue, {"c": 1}, {"method": "m"}, None)


def test_fanout_is_one_message_in_each_inbox(driver: Any) -> None:
    driver.send(Target(topic="compute", fanout=True), {}, {"method": "m"})
    fanout = "gantt_bus:fanout:gantt:compute"
    assert [(queue, request.fanout) for queue, request in driver._outbox.sent] == [
        ("gantt_bus:inbox:admin:compute:a", fanout),
        ("gantt_bus:inbox:admin:compute:b", fanout),
    ]
    assert len({request.id for _, request in driver._outbox.sent}) == 1


@pytest.mark.parametrize(("retry", "seconds"), [(0, 0.0), (None, 10.0), (5, 10.0)])
def test_cast_is_retried_for_the_configured_time(driver: Any, retry: int | None, seconds: float) -> None:
    before = time.monotonic()
    driver.send(Target(topic="compute"), {}, {"method": "m"}, retry=retry)
    assert before + seconds <= driver._outbox.deadlines[0] <= time.monotonic() + seconds


def test_call_returns_its_reply(driver: Any) -> None:
    class Answering(Outbox):
        def send(self, queue: str, body: Any, deadline: float, process_key: str | None = None) -> None:
            super().send(queue, body, deadline)
            driver._replies.deliver(wire.WireReply(body.id, 42), "compute")

    driver._outbox = Answering()
    before = time.time()
    assert driver.send(Target(topic="compute"), {}, {"method": "m"}, wait_for_reply=True, timeout=30) == 42
    ((_, request),) = driver._outbox.sent
    assert request.reply_to == "inbox"
    assert before + 30 <= request.expires_at <= time.time() + 30


@pytest.mark.parametrize(("monitor", "expiry", "sent_monitor"), [(5, 5, 5), (30, 30, None), (None, 30, None)])
def test_monitored_call_expires_when_its_caller_stops_waiting(
    driver: Any, monitor: float | None, expiry: float, sent_monitor: float | None
) -> None:
    driver._replies.wait = lambda reply_queue, description, deadline, monitor: None
    before = time.time()
    driver.send(Target(topic="compute"), {}, {}, wait_for_reply=True, timeout=30, call_monitor_timeout=monitor)
    ((_, request),) = driver._outbox.sent
    assert before + expiry <= request.expires_at <= time.time() + expiry
    assert request.monitor == sent_monitor


def test_call_that_could_not_be_sent_times_out_with_the_reason(driver: Any) -> None:
    driver._outbox = Outbox(oslo_messaging.MessageDeliveryFailure("it is away"))
    with pytest.raises(oslo_messaging.MessagingTimeout, match=r"boot on compute: not sent in time. it is away"):
        driver.send(Target(topic="compute"), {}, {"method": "boot"}, wait_for_reply=True, timeout=1)


def test_listener_that_redis_refuses_ends_the_start_of_its_server(driver: Any) -> None:
    def refuse(listener: object) -> None:
        raise bus_errors.BusRefused("no permission")

    driver._receiver = SimpleNamespace(add=refuse, refresh_subscriptions=print, remove=print)
    with pytest.raises(ServerListenError):
        driver.listen(Target(topic="compute", server="h1"), 1, None)


def test_notifications_are_refused(driver: Any) -> None:
    with pytest.raises(NotImplementedError, match="carries RPC only"):
        driver.send_notification(Target(topic="n"), {}, {}, 2.0)
    with pytest.raises(NotImplementedError, match="carries RPC only"):
        driver.listen_for_notifications([], None, 1, None)
