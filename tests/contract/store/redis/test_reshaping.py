# SPDX-License-Identifier: Apache-2.0
"""A reshape that others disturb between its read and its commit."""

from collections.abc import Callable
from typing import Any

import pytest

from devstack.servers.redis import RedisServer
from rpcapi.resources.inventory import Inventory
from scheduler_svc.store.allocations import AllocationChange
from scheduler_svc.store.providers.changes import CreateProvider, RefusalKind, SetInventories, SetTraits
from scheduler_svc.store.redis.partition import RedisPartition
from tests.support.store.backends import redis_partition
from tests.support.store.store_partition import StorePartition

PROVIDER = "@api/1"
VCPUS = {"VCPU": Inventory(4)}


@pytest.fixture
def partition(redis_server: RedisServer) -> StorePartition:
    partition = redis_partition(redis_server)
    partition.store.change_provider(CreateProvider(PROVIDER, "p"))
    partition.store.change_provider(SetInventories(PROVIDER, VCPUS))
    return partition


@pytest.fixture
def after_first_read(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Return a function that has something done between the next read of providers and what follows it."""
    actions: list[Callable[[], Any]] = []
    prefetch = RedisPartition.prefetch

    def interrupted(partition: RedisPartition, **names: Any) -> None:
        prefetch(partition, **names)
        if actions:
            actions.pop()()

    monkeypatch.setattr(RedisPartition, "prefetch", interrupted)
    return actions.append


def test_it_keeps_what_others_wrote(partition: StorePartition, after_first_read: Any) -> None:
    after_first_read(lambda: partition.store.change_provider(SetTraits(PROVIDER, ["CUSTOM_A"])))
    assert partition.store.reshape([SetInventories(PROVIDER, {"DISK_GB": Inventory(8)})], []) is None
    document = partition.store.read_providers([PROVIDER])[PROVIDER].document
    assert (document["traits"], set(document["inventories"])) == (["CUSTOM_A"], {"DISK_GB"})
    partition.check()


def test_generation_is_compared_with_the_latest(partition: StorePartition, after_first_read: Any) -> None:
    change = AllocationChange("c1", {PROVIDER: {"VCPU": 1}}, "p", "u", None)
    after_first_read(lambda: partition.store.allocate([change]))
    refusal = partition.store.reshape([SetInventories(PROVIDER, VCPUS, 1)], [])
    assert refusal is not None and (refusal.kind, refusal.actual) == (RefusalKind.GENERATION, 2)
    partition.check()


def test_generation_of_an_earlier_epoch_is_refused(partition: StorePartition, after_first_read: Any) -> None:
    partition.store.change_provider(CreateProvider("@api/2", "never changed"))
    after_first_read(partition.new_epoch)
    refusal = partition.store.reshape([SetInventories("@api/2", VCPUS, 0)], [])
    assert refusal is not None and refusal.kind is RefusalKind.GENERATION
    partition.check()
