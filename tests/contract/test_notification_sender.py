# SPDX-License-Identifier: Apache-2.0
"""Sending of notifications, and failures that the library only logs."""

import queue
import uuid

import oslo_messaging as messaging
import pytest

from rpcapi import errors
from rpcapi.messaging import bus
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.notifications.sender import NotificationSender


@pytest.fixture
def ready(conf):
    scheduler_conf.register_opts(conf)
    bus.set_defaults(conf)
    conf.set_override("control_exchange", uuid.uuid4().hex)
    return conf


class RecordingEndpoint:
    """Records published notifications."""

    def __init__(self):
        self.events = queue.Queue()

    def info(self, ctxt, publisher_id, event_type, payload, metadata):
        self.events.put((publisher_id, event_type, payload))


def test_listener_receives_sent_notification(ready):
    received = RecordingEndpoint()
    transport = messaging.get_notification_transport(ready, url="fake://")
    listener = messaging.get_notification_listener(
        transport, [messaging.Target(topic="gantt_host_state")], [received], executor="threading"
    )
    listener.start()
    sender = NotificationSender(ready, "fake://", "messagingv2", ["gantt_host_state"], "gantt-scheduler.s1")
    for number in range(3):
        sender.send("host_state.state", {"position": number})
    got = [received.events.get(timeout=20) for _ in range(3)]
    listener.stop()
    listener.wait()
    sender.close()
    assert got == [("gantt-scheduler.s1", "host_state.state", {"position": number}) for number in range(3)]


def test_failed_send_raises_unavailable(ready, redis_server):
    sender = NotificationSender(ready, redis_server.bus_url(), "messagingv2", ["t"], "p")
    with pytest.raises(errors.Unavailable, match="bus for notifications"):
        sender.send("host_state.state", {})
    sender.close()


@pytest.mark.parametrize(("url", "driver"), [("nonsense://u:secret@h/", "messagingv2"), ("fake://", "pigeon")])
def test_unusable_transport_is_a_bad_configuration(ready, url, driver):
    with pytest.raises(errors.BadConfiguration) as caught:
        NotificationSender(ready, url, driver, ["t"], "p")
    assert "secret" not in str(caught.value)
