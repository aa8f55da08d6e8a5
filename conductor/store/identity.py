# SPDX-License-Identifier: Apache-2.0
"""Identity of the Redis server of the conductors' store."""

from conductor.store.keys import key
from conductor.store.scripts import load
from rpcapi.redis_failover.identity import IdentityRecord, ServerIdentity


def make_identity(*, is_durable: bool) -> ServerIdentity:
    """Return the identity check of the server; ``is_durable`` means that its restart forgets nothing."""
    script = load("identity")
    keys = [key(word) for word in script.words]
    return ServerIdentity(
        IdentityRecord(key("meta"), "sequence", script, keys, "the conductors' store"), is_durable=is_durable
    )
