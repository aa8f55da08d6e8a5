# SPDX-License-Identifier: Apache-2.0
"""Lua scripts of the verbs."""

from rpcapi.redis_failover.scripts import LuaScript, script_loader
from scheduler_svc.store.redis.keys import KEYS, prefix, state_word

load = script_loader("scheduler_svc.store.redis", KEYS)


def script_keys(script: LuaScript, partition: str, namespace: str = "") -> list[str]:
    """Return the script's declared keys; word ``state`` is the key of ``namespace``."""
    head = prefix(partition)
    return [head + (state_word(namespace) if word == "state" else word) for word in script.words]
