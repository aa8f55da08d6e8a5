# SPDX-License-Identifier: Apache-2.0
"""Calls and servers while Redis is unavailable, and after its return."""

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import oslo_messaging
import pytest

from devstack.servers.redis import RedisServer
from rpcapi import errors
from rpcapi.messaging import bus
from tests.support.bus.bus_peer import Peers, eventually, fanout_received

MakeRedis = Callable[..., RedisServer]


def test_clients_and_servers_recover_after_a_redis_restart(
    make_peers: Callable[..., Peers], make_redis: MakeRedis
) -> None:
    redis = make_redis()
    peers = make_peers(redis)
    endpoint = peers.serve()
    other = peers.serve("other")
    client = peers.client()
    assert client.call({}, "echo", value=1) == 1

    redis.kill()
    with pytest.raises(oslo_messaging.MessagingTimeout, match="does not answer"):
        client.prepare(timeout=1).call({}, "echo", value=2)
    with pytest.raises(oslo_messaging.MessageDeliveryFailure, match="does not answer"):
        client.prepare(retry=0).cast({}, "note", value="never")
    answers: list[Any] = []
    caller = threading.Thread(target=lambda: answers.append(client.call({}, "echo", value=3)))
    caller.start()

    redis.start()
    caller.join(15)
    assert answers == [3], "a call that waits for the bus is answered after its return"
    assert client.prepare(server="other").call({}, "who") == "other"
    eventually(
        lambda: fanout_received(client, endpoint) and fanout_received(client, other),
        "fan-outs reach both servers again",
    )


def test_connection_waits_for_a_redis_that_is_being_restarted(
    make_peers: Callable[..., Peers], make_redis: MakeRedis
) -> None:
    redis = make_redis()
    transport = make_peers(redis).transport()
    redis.kill()
    with pytest.raises(errors.Unavailable, match="does not answer"):
        bus.connect(transport)
    restart = threading.Timer(0.3, redis.start)
    restart.start()
    bus.connect(transport)
    restart.join()


def test_answer_during_an_outage_is_delivered_later(make_peers: Callable[..., Peers], make_redis: MakeRedis) -> None:
    redis = make_redis()
    peers = make_peers(redis)
    endpoint = peers.serve()
    client = peers.client()
    answers: list[str] = []
    caller = threading.Thread(target=lambda: answers.append(client.call({}, "hold")))
    caller.start()
    assert endpoint.entered.wait(10)
    redis.kill()
    endpoint.gate.set()
    redis.start()
    caller.join(15)
    assert answers == ["s1"]


def test_no_message_is_lost_or_duplicated_when_connections_break(
    make_peers: Callable[..., Peers], make_redis: MakeRedis
) -> None:
    redis = make_redis()
    peers = make_peers(redis)
    endpoint = peers.serve()
    client = peers.client()
    with redis.client() as admin:
        for number in range(100):
            client.cast({}, "note", value=number)
            if number % 20 == 10:
                admin.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    eventually(lambda: len(endpoint.notes) >= 100, "all casts ran")
    assert sorted(endpoint.notes) == list(range(100))


def test_server_may_start_before_redis(make_peers: Callable[..., Peers], make_redis: MakeRedis) -> None:
    redis = make_redis()
    redis.kill()
    peers = make_peers(redis)
    endpoint = peers.serve()
    redis.start()
    assert peers.client().call({}, "who") == "s1"
    client = peers.client()
    eventually(lambda: fanout_received(client, endpoint), "a fan-out reaches it")


def test_call_to_a_frozen_redis_times_out(make_peers: Callable[..., Peers], make_redis: MakeRedis) -> None:
    redis = make_redis()
    peers = make_peers(redis)
    peers.serve()
    client = peers.client()
    client.call({}, "echo", value=1)
    assert redis.pid is not None
    os.kill(redis.pid, signal.SIGSTOP)
    try:
        with pytest.raises(oslo_messaging.MessagingTimeout):
            client.prepare(timeout=1).call({}, "echo", value=2)
    finally:
        os.kill(redis.pid, signal.SIGCONT)
    assert client.call({}, "echo", value=3) == 3


def test_server_stops_while_redis_is_away(make_peers: Callable[..., Peers], make_redis: MakeRedis) -> None:
    redis = make_redis()
    peers = make_peers(redis)
    endpoint = peers.serve()
    redis.kill()
    endpoint.server.stop()
    endpoint.server.wait()
