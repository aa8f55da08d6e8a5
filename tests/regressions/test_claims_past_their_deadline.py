# SPDX-License-Identifier: Apache-2.0
"""Regression: claims past their deadline counted until the reaper came, beyond the 32 oldest and in server groups."""

from collections.abc import Iterator

import pytest

from rpcapi.resources.claims import Answer, GroupPolicy
from scheduler_svc.core.records import ClaimGroup
from tests.support.store.backends import memory_partition, redis_partition
from tests.support.store.store_partition import SHORT_MS, StorePartition, intent

ONE = {"VCPU": 1}


@pytest.fixture(params=["memory", "redis"])
def partition(request: pytest.FixtureRequest) -> Iterator[StorePartition]:
    """A partition whose store no reaper visits."""
    is_memory = request.param == "memory"
    created = memory_partition() if is_memory else redis_partition(request.getfixturevalue("redis_server"))
    yield created
    created.store.close()


def let_expire(partition: StorePartition) -> None:
    partition.wait_until(partition.time() + SHORT_MS)


@pytest.mark.parametrize("count", [32, 33, 100, 1000])
def test_their_capacity_is_free_at_the_next_claim(partition: StorePartition, count: int) -> None:
    partition.add_host("a", amounts={"VCPU": count})
    claims = [intent(f"c{number}", "a") for number in range(count)]
    assert partition.store.prepare(partition.batch(*claims, resources=ONE, ttl_ms=SHORT_MS)).accepted
    let_expire(partition)
    assert partition.prepare("big", "a", resources={"VCPU": count}).answer is Answer.PREPARED
    partition.check()


@pytest.mark.parametrize("count", [1, 100])
def test_their_next_attempts_fit_in_their_place(partition: StorePartition, count: int) -> None:
    partition.add_host("a", amounts={"VCPU": count})
    claims = [intent(f"c{number}", "a") for number in range(count)]
    assert partition.store.prepare(partition.batch(*claims, resources=ONE, ttl_ms=SHORT_MS)).accepted
    let_expire(partition)
    claims = [intent(f"c{number}", "a", attempt=2, replaces=1) for number in range(count)]
    assert partition.store.prepare(partition.batch(*claims, resources=ONE)).accepted
    partition.check()


def test_they_are_no_members_of_an_anti_affinity_group(partition: StorePartition) -> None:
    partition.add_host("a")
    group = ClaimGroup("g", GroupPolicy.ANTI_AFFINITY)
    assert partition.prepare("c1", "a", group=group, ttl_ms=SHORT_MS).answer is Answer.PREPARED
    let_expire(partition)
    assert partition.prepare("c2", "a", group=group).answer is Answer.PREPARED


def test_they_do_not_keep_an_affinity_group_on_their_host(partition: StorePartition) -> None:
    partition.add_host("b")
    partition.add_host("c")
    group = ClaimGroup("g", GroupPolicy.AFFINITY)
    assert partition.prepare("c1", "b", group=group, ttl_ms=SHORT_MS).answer is Answer.PREPARED
    let_expire(partition)
    assert partition.prepare("c1", "c", attempt=2, replaces=1, group=group).host == "c"
    assert partition.store.group_hosts("g") == {"c": 1}
