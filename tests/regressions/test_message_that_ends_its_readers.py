# SPDX-License-Identifier: Apache-2.0
"""Regression: a message whose decoding ended a worker was delivered again, to one worker after the other, for ever."""

import json
import subprocess
import sys
import uuid
from collections.abc import Iterator

import pytest

from devstack.servers.rabbitmq import RabbitNode
from devstack.servers.redis import RedisServer
from rpcapi.messaging import bus
from rpcapi.messaging.drivers.redis_channel import MAX_REDELIVERIES
from tests.support.bus.bus_peer import Ending, Peers, eventually
from tests.support.bus.bus_process import POISONED
from tests.support.bus.settings import QUICK

PEER = [sys.executable, "-W", "ignore", "-m", "tests.support.bus.bus_process"]
END_SECONDS = 60.0


@pytest.fixture
def ending() -> Iterator[Ending]:
    cleanup = Ending()
    yield cleanup
    cleanup.finish()


def end_server(peers: Peers, poison: str) -> int:
    """Run a server that ends as it decodes the poison; return its exit status."""
    settings = {"role": "server", "url": peers.url, "topic": peers.topic, "name": "s1", "poison": poison}
    process = subprocess.Popen([*PEER, json.dumps({**settings, "options": QUICK})])
    try:
        return process.wait(END_SECONDS)
    finally:
        process.kill()
        process.wait()


def test_rabbit_delivers_it_once(rabbit_node: RabbitNode, ending: Ending) -> None:
    # Given a queue with a poisonous message and another one
    peers, poison = Peers(rabbit_node.url(), ending), uuid.uuid4().hex
    stopped = peers.serve().server
    stopped.stop()
    stopped.wait()
    for value in (poison, "next"):
        peers.client().cast({}, "note", value=value)
    # When it has ended one server
    assert end_server(peers, poison) == POISONED
    # Then the next one gets the other message only
    endpoint = peers.serve()
    eventually(lambda: "next" in endpoint.notes, "the next message arrives")
    assert endpoint.notes == ["next"]
    peers.close()


def test_embedded_bus_keeps_it_as_a_dead_letter(redis_server: RedisServer, ending: Ending) -> None:
    # Given a message that ends each server which decodes it
    peers, poison = Peers(redis_server.bus_url(), ending, **QUICK), uuid.uuid4().hex
    peers.client().cast({}, "note", value=poison)
    for _ in range(1 + MAX_REDELIVERIES):
        assert end_server(peers, poison) == POISONED
    # When the next server starts, even one that would survive it
    endpoint, transport = peers.serve(), peers.transport()
    # Then the message is a dead letter
    eventually(lambda: any(poison in letter.text for letter in bus.dead_letters(transport) or []), "it is kept")
    assert peers.client().call({}, "echo", value=1) == 1
    assert endpoint.notes == []
    peers.close()
