# SPDX-License-Identifier: Apache-2.0
"""Composition of Lua scripts from fragments and declared keys."""

import hashlib

import pytest

from conductor.store.keys import KEYS
from rpcapi.redis_failover.scripts import make_script, script_loader


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
    assert script.text.count("local function clock()") == 1
    assert "--@" not in script.text
    assert script.words == ("meta", "due", "leases", "woken")


def test_loader_reads_a_script_once() -> None:
    load = script_loader("conductor.store", KEYS)
    assert load("take") is load("take")


def test_script_with_a_key_that_the_schema_lacks_is_rejected() -> None:
    load = script_loader("conductor.store", KEYS.keys() - {"woken"})
    with pytest.raises(ValueError, match="script take declares keys that are not in the schema: woken"):
        load("take")
