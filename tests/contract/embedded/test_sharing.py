# SPDX-License-Identifier: Apache-2.0
"""Many servers share threads and connections, and do not starve each other."""

import threading
from collections.abc import Callable

from devstack.servers.redis import RedisServer
from tests.contract.embedded.queues import waiting
from tests.support.bus.bus_peer import Peers, eventually

MakeRedis = Callable[..., RedisServer]


def test_many_servers_share_one_thread_and_few_connections(
    make_peers: Callable[..., Peers], make_redis: MakeRedis
) -> None:
    redis = make_redis()
    peers = make_peers(redis)
    transport = peers.transport()
    client = peers.client()
    client.cast({}, "note", value="connects")
    with redis.client() as admin:
        threads, connections = threading.active_count(), len(admin.client_list())
        for number in range(200):
            peers.serve(f"s{number}", transport=transport)
        assert client.prepare(server="s7").call({}, "who") == "s7"
        assert client.prepare(server="s199").call({}, "who") == "s199"
        assert threading.active_count() - threads < 10, "the receivers, and executors of the servers called"
        assert len(admin.client_list()) - connections < 10


def test_busy_server_leaves_messages_to_other_servers(
    make_peers: Callable[..., Peers], redis_server: RedisServer
) -> None:
    peers = make_peers(redis_server, prefetch=2)
    busy = peers.serve("busy", pool=1)
    client = peers.client()
    client.cast({}, "hold")
    assert busy.entered.wait(10)
    for number in range(20):
        client.cast({}, "note", value=number)
    eventually(lambda: waiting(redis_server, peers) == 18, "the busy server received its prefetch limit")
    other = peers.serve("other")
    eventually(lambda: len(other.notes) == 18, "the other server ran the rest")
    busy.gate.set()
    eventually(lambda: len(busy.notes) == 2, "the busy server ran its received messages")
    assert sorted(busy.notes + other.notes) == list(range(20))


def test_busy_server_does_not_starve_another_in_the_process(
    make_peers: Callable[..., Peers], redis_server: RedisServer
) -> None:
    peers = make_peers(redis_server, prefetch=1)
    transport = peers.transport()
    busy = peers.serve("busy", transport=transport, pool=1)
    peers.serve("free", transport=transport)
    client = peers.client()
    for _ in range(4):
        client.prepare(server="busy").cast({}, "hold")
    assert busy.entered.wait(10)
    assert client.prepare(server="free").call({}, "who") == "free"
    busy.gate.set()
    assert client.prepare(server="busy").call({}, "who") == "busy"
