# SPDX-License-Identifier: Apache-2.0
"""The Lua verbs of a partition."""

from rpcapi.redis_failover.scripts import LuaScript, script_loader
from scheduler_svc.store.redis.keys import KEYS, prefix, state_word

load = script_loader("scheduler_svc.store.redis", KEYS)


def script_keys(script: LuaScript, partition: str, namespace: str = "") -> list[str]:
    """Return the names of the keys that the script declares; ``state`` is that of ``namespace``."""
    head = prefix(partition)
    return [head + (state_word(namespace) if word == "state" else word) for word in script.words]
