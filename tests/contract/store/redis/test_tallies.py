# SPDX-License-Identifier: Apache-2.0
"""What the consumers of each project hold, as it is kept in Redis beside the claims."""

import json

import pytest

from devstack.servers.redis import RedisServer
from scheduler_svc.store.allocations import ANY, AllocationChange, Usage
from scheduler_svc.store.redis import allocations
from scheduler_svc.store.redis.keys import prefix
from tests.support.store.backends import redis_partition
from tests.support.store.store_partition import StorePartition, intent

USERS = [f"u{number}" for number in range(5)]
EVERYTHING = {"INSTANCE": Usage(1, {"VCPU": 1}), "VM": Usage(5, {"VCPU": 5, "MEMORY_MB": 20})}


@pytest.fixture
def partition(redis_server: RedisServer) -> StorePartition:
    """A partition with a claim of the scheduler, and one of the Placement API for each user."""
    partition = redis_partition(redis_server)
    partition.add_host("h1", amounts={"VCPU": 100, "MEMORY_MB": 100})
    partition.hold("c", "h1", resources={"VCPU": 1})
    for user in USERS:
        amounts = {"h1": {"VCPU": 1, "MEMORY_MB": 4}}
        assert partition.store.allocate([AllocationChange(f"c{user}", amounts, "p", user, ANY, "VM")]) is None
    return partition


def test_sums_are_read_in_pages(partition: StorePartition, monkeypatch: pytest.MonkeyPatch) -> None:
    for page in (1, 2, 3, 7, 18, 19, 1000):
        monkeypatch.setattr(allocations, "TALLY_PAGE", page)
        assert partition.store.usages("p") == EVERYTHING, page
        assert partition.store.usages("p", "u3") == {"VM": Usage(1, {"VCPU": 1, "MEMORY_MB": 4})}, page


def test_nothing_is_left_of_projects_that_hold_nothing(redis_server: RedisServer, partition: StorePartition) -> None:
    partition.store.fence("h1", "token", force=True)
    for user in USERS:
        assert partition.store.allocate([AllocationChange(f"c{user}", {}, "p", user, ANY)]) is None
    head = prefix(partition.store.partition)
    assert redis_server.client().exists(head + "tallies", head + "tallied") == 0
    assert partition.store.usages("p") == {}


def test_verify_finds_wrong_sums(redis_server: RedisServer, partition: StorePartition) -> None:
    client, head = redis_server.client(), prefix(partition.store.partition)
    client.hincrby(head + "tallies", '"p","u1","VM","VCPU"', 1)
    client.zrem(head + "tallied", '"p","u2","VM",""')
    first, second = partition.store.verify().problems
    assert first == "tally of ('p', 'u1', 'VM', 'VCPU'): recorded 2, computed from the claims 1"
    assert second == "index of tallies of ('p', 'u2', 'VM', ''): recorded None, computed from the sums 1"


def test_more_claims_past_their_deadline_than_one_script_ends_are_not_counted(redis_server: RedisServer) -> None:
    partition = redis_partition(redis_server)
    partition.add_host("h1", amounts={"VCPU": 3000})
    for first in (0, 550):
        intents = [intent(f"c{number}", "h1") for number in range(first, first + 550)]
        partition.store.prepare(partition.batch(*intents, resources={"VCPU": 1}))
    client, head = redis_server.client(), prefix(partition.store.partition)
    claims = {name: json.loads(text) for name, text in client.hgetall(head + "claims").items()}
    assert len(claims) == 1100
    client.hset(head + "claims", mapping={name: json.dumps(claims[name] | {"deadline_ms": 1}) for name in claims})
    client.zadd(head + "deadlines", dict.fromkeys(claims, 1))
    assert partition.store.usages("p") == {}
    partition.check()
