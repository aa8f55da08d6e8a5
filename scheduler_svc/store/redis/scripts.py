# SPDX-License-Identifier: Apache-2.0
"""Loader of the Lua scripts, and the identity check of a partition's server."""

from rpcapi.redis_failover.identity import IdentityRecord, ServerIdentity
from rpcapi.redis_failover.scripts import LuaScript, script_loader
from scheduler_svc.store.records import Durability
from scheduler_svc.store.redis.keys import KEYS, prefix, state_word

load = script_loader("scheduler_svc.store.redis", KEYS)


def script_keys(script: LuaScript, partition: str, namespace: str = "") -> list[str]:
    """Return the keys that the script declares; word ``state`` stands for the key of ``namespace``."""
    head = prefix(partition)
    return [head + (state_word(namespace) if word == "state" else word) for word in script.words]


class RedisIdentity(ServerIdentity):
    """Identity check of a partition's server. The epoch that it begins awaits the audits of all known hosts."""

    def __init__(self, partition: str, durability: Durability, log_length: int) -> None:
        script = load("identity")
        record = IdentityRecord(
            prefix(partition) + "meta", "position", script, script_keys(script, partition), "the stored partition"
        )
        super().__init__(record, is_durable=durability == "always", arguments={"log_length": log_length})
