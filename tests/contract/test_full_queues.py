# SPDX-License-Identifier: Apache-2.0
"""Bounded queues of both buses: what is refused, what is kept, and that they serve again."""

from collections.abc import Iterator
from typing import Any

import pytest

from rpcapi import conf as rpc_conf
from rpcapi import context, errors
from rpcapi.clients.client import ServiceClient
from rpcapi.messaging import bus
from rpcapi.messaging.dispatch import BACKLOG
from tests.support.bus.bus_peer import Ending, Peers, eventually

BOUND = 100


class NotesClient(ServiceClient):
    """Sends notes to the endpoint of the bus suites."""

    VERSION = "1.0"
    TOPIC = "conductor"

    def note(self, value: int, *, server: str | None = None) -> None:
        self._cast(context.new(), "1.0", "note", {"server": server} if server else None, value=value)

    def echo(self, value: int) -> Any:
        return self.call(context.new(), "1.0", "echo", value=value)


@pytest.fixture
def bounded_peers(url: str, ending: Ending) -> Iterator[Peers]:
    peers = Peers(url, ending)
    peers.rpc_options["max_queue_length"] = BOUND
    yield peers
    peers.close()


def open_client(peers: Peers) -> NotesClient:
    transport = peers.transport()
    rpc_conf.register_opts(transport.conf)
    return NotesClient(transport.conf, transport, peers.topic)


pytestmark = pytest.mark.parametrize("url", ["embedded", "rabbit"], indirect=True)


@pytest.mark.parametrize("server", [None, "s1"])
def test_full_queue_answers_overloaded_and_keeps_what_it_has(bounded_peers: Peers, server: str | None) -> None:
    stopped = bounded_peers.serve("s1").server
    stopped.stop()
    stopped.wait()
    client = open_client(bounded_peers)

    for value in range(BOUND):
        client.note(value, server=server)
    for _ in range(2):
        with pytest.raises(errors.Overloaded, match=f"{BOUND} messages of at most {BOUND} wait; retry in 1 s"):
            client.note(-1, server=server)
    if server is None:
        with pytest.raises(errors.Overloaded):
            client.echo(-1)

    endpoint = bounded_peers.serve("s1")
    eventually(lambda: len(endpoint.notes) == BOUND, "all that was accepted arrives")
    assert client.echo(1) == 1, "the queue accepts messages again"
    assert sorted(endpoint.notes) == list(range(BOUND)), "nothing that was refused arrives"


def test_fanout_reaches_the_servers_that_read_while_one_has_stopped_reading(bounded_peers: Peers) -> None:
    reading = bounded_peers.serve("s1")
    busy = bounded_peers.serve("s2", pool=1)
    calling = bounded_peers.client()
    calling.prepare(server="s2").cast({}, "hold")
    eventually(busy.entered.is_set, "the second server is busy")
    fanout = calling.prepare(fanout=True)
    for value in range(2 * BOUND):
        fanout.cast({}, "note", value=value)
        if value % (BOUND // 2) == 0:  # or the queue of the first server may become full too
            eventually(lambda sent=value + 1: len(reading.notes) == sent, "the first server gets what was sent")
    eventually(lambda: len(reading.notes) == 2 * BOUND, "the first server gets all")
    busy.gate.set()


def test_messages_that_wait_for_a_topic_are_counted(bounded_peers: Peers) -> None:
    transport = bounded_peers.transport()
    assert bus.waiting_messages(transport) == {}, "it serves nothing yet"
    busy = bounded_peers.serve("s1", transport, pool=1)
    topic = bounded_peers.topic
    assert bus.waiting_messages(transport) == {topic: 0}
    bounded_peers.client().prepare(server="s1").cast({}, "hold")
    eventually(busy.entered.is_set, "the server is busy")

    client = open_client(bounded_peers)
    for value in range(BOUND):
        client.note(value)
    eventually(lambda: bus.waiting_messages(transport)[topic] + BACKLOG.counts()[topic] == BOUND, "all wait somewhere")
    assert BACKLOG.counts()[topic] > 0, "the server reads ahead"

    busy.gate.set()
    eventually(lambda: len(busy.notes) == BOUND, "the server gets all")
    assert (bus.waiting_messages(transport), BACKLOG.counts()[topic]) == ({topic: 0}, 0)
