# SPDX-License-Identifier: Apache-2.0
"""Reads a partition and the conductor's records from Redis as they are stored, without gantt's own decoders."""

import json
from collections.abc import Mapping
from typing import Any

import redis

from devstack.lab.chaos.final_state import InstanceState, MigrationState, StoredClaim, StoredGroup, StoredPartition

INSTANCES = "gantt:{conductor}:instances"
MIGRATIONS = "gantt:{conductor}:migrations"


def read_partition(client: redis.Redis, name: str) -> StoredPartition:
    """Return a partition as of one transaction; an empty store is epoch 0."""
    prefix = f"gantt:{{p:{name}}}:"
    pipeline = client.pipeline(transaction=True)
    for word in ("meta", "claims", "capacity", "used", "ended"):
        pipeline.hgetall(prefix + word)
    pipeline.time()
    meta, claims, capacity, used, ended, clock = pipeline.execute()
    server_ms = clock[0] * 1000 + clock[1] // 1000
    return StoredPartition(
        name=name,
        epoch=int(meta.get("epoch", 0)),
        time_ms=_time_ms(meta, server_ms),
        claims=[_claim(json.loads(text)) for text in claims.values()],
        capacity={provider: _capacity(json.loads(text)) for provider, text in capacity.items()},
        used={provider: json.loads(text) for provider, text in used.items()},
        ended={consumer: _ends(json.loads(text)) for consumer, text in ended.items()},
    )


def read_instances(client: redis.Redis) -> dict[str, InstanceState]:
    return {str(uuid): _instance(str(uuid), str(text)) for uuid, text in client.hgetall(INSTANCES).items()}


def read_migrations(client: redis.Redis) -> dict[str, MigrationState]:
    return {str(uuid): _migration(str(uuid), str(text)) for uuid, text in client.hgetall(MIGRATIONS).items()}


def _time_ms(meta: Mapping[str, str], server_ms: int) -> int:
    """Return the partition's own time: the recorded one plus the advance of the server's clock since."""
    if "time" not in meta:
        return server_ms
    return int(meta["time"]) + max(0, server_ms - int(meta["clock"]))


def _claim(raw: Mapping[str, Any]) -> StoredClaim:
    group, instance = raw.get("group"), raw.get("instance")
    return StoredClaim(
        consumer=instance or raw["consumer"],
        attempt=raw["attempt"],
        state=raw["state"],
        host=raw["host"],
        allocations=raw["allocations"],
        deadline_ms=raw.get("deadline_ms"),
        group=StoredGroup(group["id"], group["policy"], int(group["max_per_host"])) if group else None,
        source_of=raw["consumer"] if instance else None,
    )


def _capacity(raw: Mapping[str, Any]) -> dict[str, int]:
    return {name: amount[0] if isinstance(amount, list) else amount for name, amount in raw.items()}


def _ends(raw: Mapping[str, Any]) -> dict[int, str]:
    return {int(attempt): end for attempt, end in raw.items() if attempt.isdigit()}


def _instance(uuid: str, text: str) -> InstanceState:
    header, _, body = text.partition("\n")
    document = json.loads(body)
    optional = document.get("attempt", 1), document.get("host"), document.get("reason")
    return InstanceState(uuid, header.split(" ")[1], *optional)


def _migration(uuid: str, text: str) -> MigrationState:
    document = json.loads(text.partition("\n")[2])
    return MigrationState(uuid, document["instance"], document["status"], document.get("reason"))
