# SPDX-License-Identifier: Apache-2.0
"""Messages and queues of killed processes are taken over or removed."""

from collections.abc import Callable

import pytest

from devstack.servers.redis import RedisServer
from rpcapi.messaging.drivers import redis_keys
from tests.contract.embedded.processes import Processes
from tests.contract.embedded.queues import inbox_with, waiting
from tests.support.bus.bus_peer import Peers, eventually
from tests.support.bus.settings import QUICK

RECEIVED_INDEX = redis_keys.received_index("admin")


@pytest.mark.parametrize("executor", ["threading", "eventlet"])
def test_messages_not_begun_by_a_killed_server_go_to_another(
    peers: Peers, processes: Processes, redis_server: RedisServer, executor: str
) -> None:
    doomed = processes.server(peers, "doomed", pool=1, executor=executor)
    client = peers.client()
    client.cast({}, "hold")
    assert processes.said(doomed) == "hold"
    for number in range(5):
        client.cast({}, "note", value=number)
    eventually(lambda: waiting(redis_server, peers) == 0, "the doomed server received all casts")
    heir = peers.serve("heir")
    processes.kill(doomed)
    eventually(lambda: len(heir.notes) == 5, "the other server ran what had not begun")
    assert sorted(heir.notes) == list(range(5))
    assert not heir.entered.is_set(), "what had begun must not begin again: delivery is at most once"


def test_messages_for_a_killed_server_go_to_the_next_process_of_its_name(
    peers: Peers, processes: Processes, redis_server: RedisServer
) -> None:
    doomed = processes.server(peers, "h1", pool=1)
    client = peers.client().prepare(server="h1")
    client.cast({}, "hold")
    assert processes.said(doomed) == "hold"
    bodies = redis_keys.server_queue("admin", peers.exchange, peers.topic, "h1") + redis_keys.BODIES
    with redis_server.client() as redis:
        client.cast({}, "note", value="received")
        eventually(lambda: not redis.exists(bodies), "the doomed process received it")
        processes.kill(doomed)
        # Its bell goes to the inbox of the dead process.
        client.cast({}, "note", value="waiting")
        assert redis.llen(bodies) == 1
    heir = peers.serve("h1")
    eventually(lambda: len(heir.notes) == 2, "the next process runs both")
    assert sorted(heir.notes) == ["received", "waiting"]
    assert not heir.entered.is_set(), "what had begun must not begin again: delivery is at most once"


def test_received_message_of_a_live_server_stays_with_it(peers: Peers, redis_server: RedisServer) -> None:
    """A message that waits for two visibility time-outs is renewed, not redelivered."""
    busy = peers.serve("busy", pool=1)
    client = peers.client()
    client.cast({}, "hold")
    assert busy.entered.wait(10)
    client.cast({}, "note", value="waiting")
    eventually(lambda: len(busy.server.listener.unacknowledged_tags()) == 1, "the busy server received the cast")
    (tag,) = busy.server.listener.unacknowledged_tags()
    idle = peers.serve("idle")
    with redis_server.client() as redis:
        received = redis.zscore(RECEIVED_INDEX, tag)
        late = received + 2 * QUICK["visibility_timeout"]
        eventually(lambda: (redis.zscore(RECEIVED_INDEX, tag) or 0) > late, "the server renewed it repeatedly")
    busy.gate.set()
    eventually(lambda: busy.notes, "the busy server ran its received messages")
    assert (busy.notes, idle.notes) == (["waiting"], [])


def test_answers_to_a_killed_client_expire(
    make_peers: Callable[..., Peers], processes: Processes, redis_server: RedisServer
) -> None:
    peers = make_peers(redis_server, reply_ttl=60)
    endpoint = peers.serve(name := f"server-{peers.topic}")
    doomed = processes.start(peers, "client", "asking")
    assert endpoint.entered.wait(10)
    processes.kill(doomed)
    with redis_server.client() as redis:
        # Until Redis has noticed the closed connection it delivers to that, and the answer would be lost. It notices
        # before it answers a later connection.
        redis.ping()
        endpoint.gate.set()
        eventually(lambda: inbox_with(redis_server, name), "the answer waits for the dead client")
        assert 0 < redis.ttl(inbox_with(redis_server, name)) <= 60


def test_fanout_reaches_live_servers_and_removes_dead_ones(
    peers: Peers, processes: Processes, redis_server: RedisServer
) -> None:
    processes.kill(processes.server(peers, "doomed"))
    fanout = redis_keys.fanout_members(peers.exchange, peers.topic)
    with redis_server.client() as redis:
        (dead_process,) = redis.zrange(fanout, 0, -1)
        dead = redis_keys.inbox("admin", dead_process)
        living = peers.serve("living")
        before = redis.llen(dead)
        peers.client().prepare(fanout=True).cast({}, "note", value=1)
        assert redis.llen(dead) == before + 1, "a copy waits for the dead"
        eventually(lambda: living.notes == [1], "the live server received it")
        eventually(lambda: redis.zscore(fanout, dead_process) is None, "the dead left the fan-out")
        assert redis.zcard(fanout) == 1
        eventually(lambda: not redis.exists(dead), "its copy expired")


def test_last_server_of_a_topic_is_removed_from_its_fanout(peers: Peers, redis_server: RedisServer) -> None:
    endpoint = peers.serve()
    fanout = redis_keys.fanout_members(peers.exchange, peers.topic)
    with redis_server.client() as redis:
        assert redis.zcard(fanout) == 1
        endpoint.server.stop()
        assert redis.zcard(fanout) == 0


def test_queue_without_a_server_expires(make_peers: Callable[..., Peers], redis_server: RedisServer) -> None:
    peers = make_peers(redis_server, request_ttl=2)
    peers.client().cast({}, "note", value="nobody")
    assert waiting(redis_server, peers) == 1
    eventually(lambda: waiting(redis_server, peers) == 0, "the queue expired with its message")
