# SPDX-License-Identifier: Apache-2.0
"""The list of dead letters is bounded in number, size and time."""

import pytest

from devstack.servers.redis import RedisServer
from rpcapi.messaging.drivers import dead_letters, redis_keys


def test_list_keeps_the_beginnings_of_the_newest_letters(redis_server: RedisServer) -> None:
    key = redis_keys.dead_letters("unit")
    with redis_server.client() as client:
        client.delete(key)
        before = dead_letters.COUNT.value
        for number in range(dead_letters.MAX_LETTERS + 5):
            letter = dead_letters.describe(f"q{number}", b"\xff" * 5000, "r" * 5000)
            dead_letters.write(client, "unit", letter)
        letters = dead_letters.read(client, ["unit"])
        assert 0 < client.ttl(key) <= dead_letters.SECONDS
        client.delete(key)
    assert len(letters) == dead_letters.MAX_LETTERS
    assert dead_letters.COUNT.value - before == dead_letters.MAX_LETTERS + 5
    assert (letters[0].queue, letters[0].size) == (f"q{dead_letters.MAX_LETTERS + 4}", 5000)
    assert (len(letters[0].text), len(letters[0].reason)) == (dead_letters.MAX_TEXT, dead_letters.MAX_REASON)


WRONG_TYPES = '{"queue": 1, "reason": 2, "size": "a", "text": [], "received_at": 0}'


@pytest.mark.parametrize("text", ["junk", "[]", "{}", WRONG_TYPES, "[" * 100_000])
def test_what_is_no_letter_is_shown_as_one_about_it(redis_server: RedisServer, text: str) -> None:
    key = redis_keys.dead_letters("unit")
    with redis_server.client() as client:
        client.delete(key)
        dead_letters.write(client, "unit", dead_letters.describe("q", b"", "reason"))
        client.rpush(key, text)
        letters = dead_letters.read(client, ["unit"])
        client.delete(key)
    assert [letter.queue for letter in letters] == ["q", key]
    assert letters[1].reason == "it is not a dead letter"


def test_a_longer_list_than_services_keep_is_read_in_part(redis_server: RedisServer) -> None:
    key = redis_keys.dead_letters("unit")
    with redis_server.client() as client:
        client.delete(key)
        client.rpush(key, *["junk"] * (dead_letters.MAX_LETTERS + 5))
        letters = dead_letters.read(client, ["unit"])
        client.delete(key)
    assert len(letters) == dead_letters.MAX_LETTERS
