# SPDX-License-Identifier: Apache-2.0
"""Composition of Lua scripts from fragments and declared keys."""

import hashlib
from collections.abc import Callable
from importlib.resources import files

import pytest

from conductor.store.keys import KEYS
from devstack.servers.redis import RedisServer
from rpcapi.redis_failover.scripts import make_script, script_loader

HOUR_MS = 3_600_000
MAX_STEP_MS = 15_000
ADVANCE = (
    files("rpcapi.redis_failover").joinpath("lua", "_time.lua").read_text("utf-8")
    + "return { advance_time(K.meta, unpack(redis.call('HMGET', K.meta, 'time', 'clock'))) }"
)


@pytest.fixture
def advance_after(redis_server: RedisServer) -> Callable[[int], tuple[int, int]]:
    """Return a function that steps the server's clock by some milliseconds, as the recorded reading shows it.

    It returns how far the script advanced the store's time, and the server's clock as the script read it.
    """
    client = redis_server.client()
    script = make_script("advance", ADVANCE, ["meta"], ["max_step_ms"])
    client.delete("own-time")

    def advance(step_ms: int) -> tuple[int, int]:
        before = client.hgetall("own-time")
        if before:
            client.hset("own-time", "clock", int(before["clock"]) - step_ms)
        time, clock = client.eval(script.text, 1, "own-time", *script.arguments(max_step_ms=MAX_STEP_MS))
        assert client.hgetall("own-time") == {"time": str(time), "clock": str(clock)}
        return time - int(before.get("time", time)), clock

    return advance


def test_script_reads_its_keys_by_their_words() -> None:
    script = make_script("verb", "return redis.call('GET', K.meta)", ["due", "meta"], ["limit"])
    assert script.text.splitlines() == [
        "local K = { due = KEYS[1], meta = KEYS[2] }",
        "local A, REST = { limit = ARGV[1] }, 2",
        "return redis.call('GET', K.meta)",
    ]
    assert script.sha == hashlib.sha1(script.text.encode(), usedforsecurity=False).hexdigest()
    assert script.words == ("due", "meta")


def test_arguments_are_sent_in_the_declared_order_with_rows_after_them() -> None:
    script = make_script("verb", "", [], ["limit", "host"])
    assert script.arguments(iter(["a", 1]), host="h1", limit=5) == [5, "h1", "a", 1]


@pytest.mark.parametrize("values", [{"host": "h1"}, {"host": "h1", "limit": 5, "name": "x"}, {}])
def test_other_arguments_than_the_declared_are_rejected(values: dict[str, object]) -> None:
    script = make_script("verb", "", [], ["limit", "host"])
    with pytest.raises(TypeError, match="script verb takes limit, host"):
        script.arguments(**values)


def test_fragment_replaces_its_include_line() -> None:
    script = script_loader("conductor.store", KEYS)("take")
    assert script.text.count("local function advance_time(") == 1
    assert "--@" not in script.text
    assert {"due", "leases", "woken"} <= set(script.words)


def test_loader_reads_a_script_once() -> None:
    load = script_loader("conductor.store", KEYS)
    assert load("take") is load("take")


def test_script_with_a_key_that_the_schema_lacks_is_rejected() -> None:
    load = script_loader("conductor.store", KEYS.keys() - {"woken"})
    with pytest.raises(ValueError, match="script take declares keys that are not in the schema: woken"):
        load("take")


def test_time_of_a_new_store_begins_at_the_servers_clock(redis_server: RedisServer) -> None:
    client = redis_server.client()
    script = make_script("advance", ADVANCE, ["meta"], ["max_step_ms"])
    client.delete("own-time")
    time, clock = client.eval(script.text, 1, "own-time", MAX_STEP_MS)
    assert time == clock
    assert client.hgetall("own-time") == {"time": str(time), "clock": str(clock)}


def test_time_advances_by_the_step_of_the_servers_clock(advance_after: Callable[[int], tuple[int, int]]) -> None:
    advance_after(0)
    assert 2_000 <= advance_after(2_000)[0] <= MAX_STEP_MS


@pytest.mark.parametrize("leap_ms", [HOUR_MS, 30 * 24 * HOUR_MS])
def test_leap_of_the_servers_clock_advances_time_by_the_limit(
    advance_after: Callable[[int], tuple[int, int]], leap_ms: int
) -> None:
    advance_after(0)
    assert advance_after(leap_ms)[0] == MAX_STEP_MS


def test_time_goes_on_at_once_after_the_servers_clock_stepped_back(
    advance_after: Callable[[int], tuple[int, int]],
) -> None:
    advance_after(0)
    assert advance_after(-HOUR_MS)[0] == 0
    assert 2_000 <= advance_after(2_000)[0] <= MAX_STEP_MS


def test_fragment_that_the_store_lacks_is_read_from_the_shared_ones() -> None:
    assert "local function advance_time(" in script_loader("scheduler_svc.store.redis", ["meta"])("_time").text
