# SPDX-License-Identifier: Apache-2.0
"""Sizes of collections in Redis."""

from collections.abc import Sequence
from typing import Any

from devstack.servers.redis import RedisServer
from rpcapi.bounds import CollectionSize
from rpcapi.redis_failover.memory_usage import MeasuredKey, key_type, measure


def test_entries_and_bytes_are_summed_over_the_keys_of_a_collection(redis_server: RedisServer) -> None:
    keys = {name: f"measured:{name}" for name in ("things", "index", "set", "log", "missing")}
    with redis_server.client() as client:

        def read(*commands: Sequence[Any]) -> list[Any]:
            return [client.execute_command(*command) for command in commands]

        client.delete(*keys.values())
        client.hset(keys["things"], mapping={f"thing-{number}": "x" * 200 for number in range(1000)})
        client.zadd(keys["index"], {f"thing-{number}": number for number in range(1000)})
        client.sadd(keys["set"], "a", "b")
        client.xadd(keys["log"], {"body": "x"})
        sizes = measure(
            read,
            {
                "things": [MeasuredKey(keys["things"], "hash", True), MeasuredKey(keys["index"], "zset", False)],
                "all": [MeasuredKey(keys["set"], "set", True), MeasuredKey(keys["log"], "stream", True)],
                "nothing": [MeasuredKey(keys["missing"], "hash", True)],
            },
        )
        client.delete(*keys.values())
    assert sizes["things"].entries == 1000
    assert 200 < sizes["things"].bytes / 1000 < 600
    assert sizes["all"].entries == 3
    assert sizes["nothing"] == CollectionSize(0, 0)


def test_type_is_the_first_word_of_a_description() -> None:
    assert [key_type(text) for text in ("hash: a, b", "zset, all 0", "set of x", "stream")] == [
        "hash",
        "zset",
        "set",
        "stream",
    ]
