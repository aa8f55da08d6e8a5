# SPDX-License-Identifier: Apache-2.0
"""Identity of a partition's Redis server."""

from rpcapi.redis_failover.identity import IdentityRecord, ServerIdentity
from scheduler_svc.store.records import Durability
from scheduler_svc.store.redis.keys import prefix
from scheduler_svc.store.redis.scripts import load, script_keys


class RedisIdentity(ServerIdentity):
    """Identity check of a partition's server. A new epoch awaits the audits of all known hosts."""

    def __init__(self, partition: str, durability: Durability, log_length: int) -> None:
        script = load("identity")
        record = IdentityRecord(
            prefix(partition) + "meta", "position", script, script_keys(script, partition), "the stored partition"
        )
        super().__init__(record, is_durable=durability == "always", arguments={"log_length": log_length})
