# SPDX-License-Identifier: Apache-2.0
"""Messages that cannot be processed: each is a dead letter and one log line, and the server goes on."""

import json
import logging
import time
import uuid
from typing import Any

import pytest

from devstack.servers.redis import RedisServer
from rpcapi.messaging import bus
from rpcapi.messaging.drivers import redis_keys, wire
from rpcapi.messaging.drivers.redis_channel import TAG_LENGTH
from rpcapi.messaging.drivers.redis_keys import BODIES
from tests.contract.embedded.queues import push, topic_queue
from tests.support.bus.bus_peer import Peers, eventually

DEAD_LETTERS = redis_keys.dead_letters("admin")


def body(**values: Any) -> str:
    fields = {"kind": "Request", "wire": wire.WIRE_VERSION, "ctxt": {}, "message": {}, "expires_at": time.time() + 60}
    return json.dumps({**fields, **values})


def poison() -> list[str]:
    """Return entries of a queue, each with its own delivery tag, that cannot be processed."""
    texts = [
        body(expires_at=None),
        body(expires_at=10**400),
        body(id={}),
        body(reply_to="gantt_bus:received"),
        "[" * 100_000,
        "null",
        "not JSON",
        "[1]",
        '{"properties": 7}',
    ]
    tag = str(uuid.uuid4())
    assert len(tag) == TAG_LENGTH
    return [*(str(uuid.uuid4()) + text for text in texts), "short"]


def test_poison_is_a_dead_letter_and_is_not_delivered_again(
    peers: Peers, redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    peers.serve()
    queue = topic_queue(peers)
    entries = poison()
    with redis_server.client() as redis:
        redis.delete(DEAD_LETTERS)
        caplog.set_level(logging.WARNING)
        for entry in entries:
            push(redis_server, queue, entry)
        eventually(lambda: redis.llen(DEAD_LETTERS) == len(entries), "all are dead letters")
        assert peers.client().call({}, "echo", value=1) == 1
        assert not redis.llen(queue + BODIES)
        assert not redis.hlen(redis_keys.received("admin")), "none is delivered again"
        letters = bus.dead_letters(peers.transport()) or []
        redis.delete(DEAD_LETTERS)
    assert {letter.queue for letter in letters} == {queue}
    lines = [record for record in caplog.records if "dead letter" in record.getMessage()]
    assert len(lines) == len(entries)
    assert all(record.exc_info is None and len(record.getMessage()) < 1000 for record in caplog.records)


def test_malformed_calls_do_not_make_a_listener_deaf(peers: Peers, redis_server: RedisServer) -> None:
    """They are begun, and so no longer count as received and not begun."""
    peers.serve()
    queue = topic_queue(peers)
    for number in range(100):
        tag = str(uuid.uuid4())
        message: Any = [[], None, 7, {"method": []}, {"method": "echo", "args": 1}][number % 5]
        push(redis_server, queue, tag + body(message=message, id=f"id{number}"))
    assert peers.client().call({}, "echo", value=1) == 1


def test_junk_in_an_inbox_is_a_dead_letter_and_in_a_queue_of_bells_without_effect(
    peers: Peers, redis_server: RedisServer
) -> None:
    peers.serve()
    client = peers.client()
    assert client.call({}, "echo", value=1) == 1
    queue = topic_queue(peers)
    with redis_server.client() as redis:
        redis.delete(DEAD_LETTERS)
        (process,) = redis.zrange(redis_keys.fanout_members(peers.exchange, peers.topic), 0, -1)
        inbox = redis_keys.inbox("admin", process)
        redis.lpush(queue, "not JSON", "[1]")
        junk = ["[" * 9999, "\udcff", "7"]
        redis.lpush(inbox, *(text.encode(errors="surrogateescape") for text in junk))
        eventually(lambda: redis.llen(DEAD_LETTERS) == len(junk), "all are dead letters")
        eventually(lambda: not redis.llen(queue), "the junk is read as bells without bodies")
        assert redis.llen(DEAD_LETTERS) == len(junk)
        redis.delete(DEAD_LETTERS)
    assert client.call({}, "echo", value=2) == 2


def test_arguments_that_are_nested_too_deeply_are_answered(peers: Peers, redis_server: RedisServer) -> None:
    peers.serve()
    queue = topic_queue(peers)
    reply_to, tag = uuid.uuid4().hex, str(uuid.uuid4())
    inbox = redis_keys.inbox("admin", redis_keys.process("admin", reply_to))
    request = wire.WireRequest({}, {"args": "VALUE"}, time.time() + 60, reply_to=reply_to)
    text = wire.encode(request).replace('"VALUE"', "[" * 100_000 + "]" * 100_000)
    push(redis_server, queue, tag + text)
    with redis_server.client() as redis:
        eventually(lambda: redis.llen(inbox), "the call is answered")
        answer = json.loads(redis.lpop(inbox))
    assert answer["id"] == request.id
    assert "MalformedObject" in answer["failure"]
