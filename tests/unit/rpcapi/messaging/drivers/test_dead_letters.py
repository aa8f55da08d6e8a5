# SPDX-License-Identifier: Apache-2.0
"""The list of dead letters is bounded in number, size and time."""

from devstack.servers.redis import RedisServer
from rpcapi.messaging.drivers import dead_letters, names


def test_list_keeps_the_beginnings_of_the_newest_letters(redis_server: RedisServer) -> None:
    key = names.dead_letters("unit")
    with redis_server.client() as client:
        client.delete(key)
        for number in range(dead_letters.MAX_LETTERS + 5):
            dead_letters.write(client, "unit", f"q{number}", b"\xff" * 5000, "r" * 5000)
        letters = dead_letters.read(client, ["unit"])
        assert 0 < client.ttl(key) <= dead_letters.SECONDS
        client.delete(key)
    assert len(letters) == dead_letters.MAX_LETTERS
    assert (letters[0].queue, letters[0].size) == (f"q{dead_letters.MAX_LETTERS + 4}", 5000)
    assert (len(letters[0].text), len(letters[0].reason)) == (dead_letters.MAX_TEXT, dead_letters.MAX_REASON)
