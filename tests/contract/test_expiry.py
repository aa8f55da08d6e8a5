# SPDX-License-Identifier: Apache-2.0
"""Expired calls are not executed, on any bus."""

import oslo_messaging
import pytest

from rpcapi import conf as rpc_conf
from rpcapi import context, errors
from rpcapi.clients.client import ServiceClient
from rpcapi.endpoint import expose
from rpcapi.serializer import GanttSerializer
from tests.support.bus.bus_peer import CALL_TIMEOUT, Peers, eventually


class NotesEndpoint:
    """An endpoint with exposed methods like those of the services."""

    target = oslo_messaging.Target(version="1.0")

    def __init__(self) -> None:
        self.values: list[str] = []
        self.dropped: list[str] = []

    def _observe(self, method: str, code: str, seconds: float) -> None:
        if code != "ok":
            self.dropped.append(code)

    @expose
    def note(self, ctxt: context.RequestContext, value: str) -> None:
        """Store the value."""
        self.values.append(value)


class NotesAPI(ServiceClient):
    """Client of NotesEndpoint."""

    VERSION = "1.0"
    TOPIC = "conductor"

    def note(self, ctxt: context.RequestContext, value: str) -> None:
        """Request the endpoint to store the value."""
        self.call(ctxt, "1.0", "note", value=value)


def client(peers: Peers, seconds: float) -> NotesAPI:
    transport = peers.transport()
    rpc_conf.register_opts(transport.conf)
    transport.conf.set_override("call_timeout", seconds, group="rpc")
    return NotesAPI(transport.conf, transport, topic=peers.topic)


def test_expired_call_is_not_executed(peers: Peers) -> None:
    """Also when the bus keeps it for the next server, as oslo.messaging's fake bus does."""
    idle = peers.start(NotesEndpoint(), "idle", serializer=GanttSerializer())
    idle.stop()
    idle.wait()
    with pytest.raises((oslo_messaging.MessagingTimeout, errors.Unavailable)):
        client(peers, 0.5).note(context.new(), "expired")
    late = NotesEndpoint()
    peers.start(late, "late", pool=1, serializer=GanttSerializer())
    client(peers, CALL_TIMEOUT).note(context.new(), "fresh")
    assert late.values == ["fresh"]
    if peers.url.startswith("fake"):
        assert late.dropped == ["deadline_passed"]


@pytest.mark.parametrize("url", ["rabbit"], indirect=True)
def test_expired_call_is_removed_from_its_queue(peers: Peers) -> None:
    idle = peers.serve("idle")
    idle.server.stop()
    idle.server.wait()
    transport = peers.transport()
    sender = peers.client(transport=transport)
    with pytest.raises(oslo_messaging.MessagingTimeout):
        sender.prepare(timeout=1).call({}, "note", value="expired")
    sender.cast({}, "note", value="kept")
    with transport._driver._get_connection() as connection:
        eventually(
            lambda: connection.channel.queue_declare(peers.topic, passive=True).message_count == 1,
            "only the cast waits for a server",
        )
