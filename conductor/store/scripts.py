# SPDX-License-Identifier: Apache-2.0
"""Lua verbs of the conductors' store, and the identity check of its server."""

from conductor.store.keys import KEYS, key
from rpcapi.redis_failover.identity import IdentityRecord, ServerIdentity
from rpcapi.redis_failover.scripts import script_loader

load = script_loader("conductor.store", KEYS)


def make_identity(*, is_durable: bool) -> ServerIdentity:
    """Return the server's identity check; ``is_durable`` means that a restart loses no writes."""
    script = load("identity")
    keys = [key(word) for word in script.words]
    return ServerIdentity(
        IdentityRecord(key("meta"), "sequence", script, keys, "the conductors' store"), is_durable=is_durable
    )
