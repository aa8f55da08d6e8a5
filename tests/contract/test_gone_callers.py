# SPDX-License-Identifier: Apache-2.0
"""Calls whose callers are gone: their answers occupy no thread of the server."""

import threading
import uuid
from collections.abc import Iterator

import oslo_messaging
import pytest
from oslo_messaging._drivers import common

from devstack.servers.rabbitmq import RabbitNode
from tests.support.bus.bus_peer import Ending, Peers

CALLS = 20


@pytest.fixture
def peers(rabbit_node: RabbitNode, ending: Ending) -> Iterator[Peers]:
    peers = Peers(rabbit_node.url(), ending)
    yield peers
    peers.close()


def call_and_go(peers: Peers, method: str, **values: object) -> None:
    """Send a call and be gone: nobody has declared its reply queue."""
    ids = {"_msg_id": uuid.uuid4().hex, "_unique_id": uuid.uuid4().hex, "_reply_q": f"reply_{uuid.uuid4().hex}"}
    message = {"method": method, "args": values, "version": "1.0", "_timeout": 2, **ids}
    with peers.transport()._driver._get_connection(common.PURPOSE_SEND) as connection:
        connection.topic_send(peers.exchange, peers.topic, common.serialize_msg(message))


def test_answers_to_callers_that_are_gone_do_not_delay_others(peers: Peers) -> None:
    """With one thread, which would wait 10 s for each of the reply queues, an answer would take minutes."""
    peers.serve(pool=1)
    client = peers.client(timeout=60)
    assert client.call({}, "echo", value=1) == 1
    for number in range(CALLS):
        call_and_go(peers, "echo", value=number)
    assert client.call({}, "echo", value=2) == 2


def test_call_of_an_unknown_method_leaves_no_thread(peers: Peers) -> None:
    """A caller of a newer release, which monitors its call, may call what this one does not know."""
    peers.serve()
    client = peers.client(call_monitor_timeout=5)
    assert client.call({}, "echo", value=1) == 1
    for _ in range(3):
        with pytest.raises(oslo_messaging.NoSuchMethod, match="no_such_method"):
            client.call({}, "no_such_method")
    assert not [thread for thread in threading.enumerate() if "_watchdog" in thread.name]
