# SPDX-License-Identifier: Apache-2.0
"""Verification and cleanup of inconsistent keys in Redis."""

from devstack.servers.redis import RedisServer
from tests.support.store.backends import redis_partition


def test_verify_reports_inconsistent_sums(redis_server: RedisServer) -> None:
    partition = redis_partition(redis_server)
    partition.add_host("h1")
    partition.hold("c1", "h1")
    partition.prepare("c2", "h1")
    head, client = f"gantt:{{p:{partition.store.partition}}}:", redis_server.client()
    client.hset(head + "used", "h1", '{"VCPU":3,"MEMORY_MB":128}')
    client.zrem(head + "by_host", "h1|c1")
    client.hset(head + "groups", "g1", '{"h1":1}')
    client.zrem(head + "deadlines", "c2")
    client.hset(head + "capacity", "h1", '{"VCPU":1,"MEMORY_MB":1024}')
    client.hset(head + "excess", "h1|MEMORY_MB", "1")
    problems = "\n".join(partition.store.verify().problems)
    for what in (
        "VCPU at h1: recorded as used 3",
        "index by host",
        "group count",
        "deadline",
        "not flagged",
        "within capacity",
    ):
        assert what in problems
    partition.store.close()


def test_deadline_without_a_claim_is_dropped_and_not_counted(redis_server: RedisServer) -> None:
    partition = redis_partition(redis_server)
    partition.add_host("h1")
    deadlines = f"gantt:{{p:{partition.store.partition}}}:deadlines"
    client = redis_server.client()
    client.zadd(deadlines, {f"stray-{number}": 1 for number in range(500)})
    # A full batch would make the reaper and verify repeat the call
    assert partition.store.reap(dead_after_ms=60_000, tombstone_ms=60_000, limit=500).ended == 0
    assert client.zcard(deadlines) == 0
    partition.store.close()
