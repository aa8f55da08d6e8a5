# SPDX-License-Identifier: Apache-2.0
"""Static checks of the Lua scripts: declared keys, documented headers, no unbounded commands."""

import inspect
import re
from importlib.resources import files

import pytest

from scheduler_svc.store.redis import partition, rows
from scheduler_svc.store.redis.keys import KEYS
from scheduler_svc.store.redis.scripts import load, script_keys

FOLDER = files("scheduler_svc.store.redis").joinpath("lua")
ALL = sorted(path.name.removesuffix(".lua") for path in FOLDER.iterdir() if path.name.endswith(".lua"))
VERBS = [name for name in ALL if not name.startswith("_")]


@pytest.mark.parametrize("name", VERBS)
def test_used_keys_are_declared(name: str) -> None:
    script = load(name)
    used = set(re.findall(r"\bK\.(\w+)", script.text))
    assert used <= set(script.words) <= set(KEYS)
    assert re.search(r"\bKEYS\b", script.text.partition("\n")[2]) is None


@pytest.mark.parametrize("name", VERBS)
def test_keys_of_a_partition_share_its_hash_tag(name: str) -> None:
    keys = script_keys(load(name), "cell1")
    assert keys and all(key.startswith("gantt:{p:cell1}:") for key in keys)


@pytest.mark.parametrize("name", VERBS)
def test_declared_arguments_are_the_used_arguments(name: str) -> None:
    script = load(name)
    assert set(re.findall(r"\bA\.(\w+)", script.text)) == set(script.args)
    assert re.search(r"\bARGV\[\d", script.text.split("\n", 2)[2]) is None


@pytest.mark.parametrize("name", VERBS)
def test_header_documents_arguments_and_result(name: str) -> None:
    head = FOLDER.joinpath(f"{name}.lua").read_text("utf-8").partition("\n--@")[0]
    assert "-- ARGV: " in head and "-- Returns: " in head


@pytest.mark.parametrize("name", ALL)
def test_scripts_use_no_scanning_or_flushing_commands(name: str) -> None:
    text = FOLDER.joinpath(f"{name}.lua").read_text("utf-8")
    assert text.startswith("-- SPDX-License-Identifier: Apache-2.0\n")
    called = re.findall(r"""call\(\s*['"](\w+)['"]""", text)
    planned = text.count("call(command, K[word], ...)") if name == "commit" else 0
    assert len(called) + planned == text.count("call("), "a command that is not written out cannot be read here"
    assert not [command for command in called if re.match("(?i)(KEYS|SCAN|FLUSH|CONFIG|RANDOMKEY)", command)]


def test_commands_of_plans_concern_one_key() -> None:
    sources = "".join(inspect.getsource(module) for module in (partition, rows))
    reads = {"HMGET", "SCARD", "SISMEMBER", "ZRANGEBYLEX"}
    assert set(re.findall(r'"([A-Z]{4,})"', sources)) - {"LIMIT"} == {
        *reads,
        *("HDEL", "HINCRBY", "HSET", "SADD", "SREM", "ZADD", "ZREM"),
    }


def test_fragment_is_included_once() -> None:
    assert load("confirm").text.count("local function find_claim(") == 1
    assert load("confirm").text.count("local function live_claim(") == 1
