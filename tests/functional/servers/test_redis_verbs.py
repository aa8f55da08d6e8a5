# SPDX-License-Identifier: Apache-2.0
"""Verbs in Python on each supported redis-server: their numbers and texts pass through its Lua and its JSON."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from devstack.servers.redis import RedisServer
from rpcapi.resources.claims import Answer
from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import CLAIMS, ClaimRef
from scheduler_svc.store.allocations import ConsumerImport
from scheduler_svc.store.providers.changes import CreateProvider, SetInventories, SetTraits
from tests.support.store.backends import redis_partition
from tests.support.store.store_partition import StorePartition

PROVIDER = "@api/00000000-0000-0000-0000-000000000001"


@pytest.fixture
def partition(make_redis: Callable[..., RedisServer], redis_flavour: Path) -> StorePartition:
    return redis_partition(make_redis(binary=redis_flavour))


def answers(results: list[Any]) -> list[Answer]:
    return [result.answer for result in results]


def test_hosts_move_audit_are_fenced_and_removed(partition: StorePartition) -> None:
    store = partition.store
    partition.add_host("h1")
    partition.add_host("h2")
    partition.hold("c1", "h1")
    assert answers(store.begin_moves([ClaimRef("c1", 1)], ["m"])) == [Answer.CONFIRMED]
    assert answers(store.end_moves([ClaimRef("c1", 1)], ["m"])) == [Answer.CONFIRMED]
    assert store.audit("h2", store.snapshot().epoch, [], 0).answers == []
    assert partition.fence("h1") == 1
    assert answers(store.find([ClaimRef("c1", 1)])) == [Answer.FENCED]
    for host in ("h1", "h2"):
        store.settle_alive([])
        store.remove(host)
    assert store.snapshot().providers == {}
    partition.check()


def test_providers_change_and_consumers_are_imported(partition: StorePartition) -> None:
    store = partition.store
    store.change_provider(CreateProvider(PROVIDER, "p"))
    store.change_provider(SetInventories(PROVIDER, {"VCPU": Inventory(8)}))
    store.change_provider(SetTraits(PROVIDER, ["CUSTOM_A"]))
    imported = ConsumerImport("c", {PROVIDER: {"VCPU": 1}}, "project", "user", "INSTANCE", 3, 1)
    assert store.import_allocations([imported]) is None
    state = store.read_providers([PROVIDER])[PROVIDER]
    assert (state.document["traits"], state.used) == (["CUSTOM_A"], {"VCPU": 1, CLAIMS: 1})
    partition.check()
