# SPDX-License-Identifier: Apache-2.0
"""Verbs for pins and homes of server groups on Redis."""

from scheduler_svc.store.records import GroupHome, GroupMembership
from scheduler_svc.store.redis.connect import RedisConnection


def pin(connection: RedisConnection, key: str, requested: str, *, ttl_ms: int, instead_of: str | None) -> str:
    return str(connection.run("pin", key=key, partition=requested, ttl_ms=ttl_ms, replaceable=instead_of or ""))


def group_home(
    connection: RedisConnection, group_id: str, requested: str, *, ttl_ms: int, instead_of: str
) -> GroupHome:
    return GroupHome(
        *connection.run("group_home", group=group_id, partition=requested, ttl_ms=ttl_ms, replaceable=instead_of)
    )


def leave_group(
    connection: RedisConnection, group_id: str, generation: str, ttl_ms: int, *, only_if_certain: bool
) -> GroupMembership:
    members, may_have_forgotten = connection.run(
        "leave_group", group=group_id, generation=generation, ttl_ms=ttl_ms, only_if_certain=int(only_if_certain)
    )
    return GroupMembership(members, bool(may_have_forgotten))
