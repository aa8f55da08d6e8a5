# SPDX-License-Identifier: Apache-2.0
"""Custom traits and resource classes: their names exist on their own, and are retired once nobody has them."""

from collections.abc import Callable
from typing import Any

import pytest

from rpcapi import errors
from rpcapi.resources.inventory import Inventory
from scheduler_svc.store.external_states import ExternalStates
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.providers.changes import (
    CreateProvider,
    Refusal,
    RefusalKind,
    SetAggregates,
    SetInventories,
    SetTraits,
    UpdateProvider,
)
from tests.support.store.store_partition import ROOMY, StorePartition, node_stats

POOL = "@api/pool"


@pytest.fixture
def partition(make_partition: Any) -> StorePartition:
    """A partition with host h1, a provider of the Placement API and a custom trait."""
    partition = make_partition(namespaces=("trait", "resource_class", "rack"))
    partition.add_host("h1")
    partition.store.change_provider(CreateProvider(POOL, "p"))
    partition.store.put_state("trait", "CUSTOM_A", 0, {})
    return partition


def position(partition: StorePartition) -> int:
    return partition.store.snapshot().position


def test_retired_name_is_gone_from_log_and_snapshot(partition: StorePartition) -> None:
    looked_at = position(partition)
    assert partition.store.retire("trait", "CUSTOM_A", looked_at) is None
    assert partition.store.snapshot(("trait",)).states == {"trait": {}}
    entries = partition.store.follow(looked_at, 0)
    assert [(entry.kind, entry.payload) for entry in entries or ()] == [("state", {"trait": {"CUSTOM_A": None}})]
    # a repeated call, and one for a name that never was, change nothing
    looked_at = position(partition)
    for namespace, name in (("trait", "CUSTOM_A"), ("resource_class", "CUSTOM_B")):
        assert partition.store.retire(namespace, name, looked_at) is None
    assert position(partition) == looked_at


@pytest.mark.parametrize(
    "take_into_use",
    [
        lambda partition: partition.store.change_provider(SetTraits(POOL, ["CUSTOM_A"])),
        lambda partition: partition.store.change_provider(SetInventories(POOL, {"CUSTOM_A": Inventory(1)})),
        lambda partition: partition.store.reshape([SetInventories(POOL, {"CUSTOM_A": Inventory(1)})], []),
        lambda partition: partition.report("h1", {"h1": node_stats(ROOMY, traits=["CUSTOM_A"])}),
        lambda partition: partition.report("h1", {"h1": node_stats({**ROOMY, "CUSTOM_A": 1})}),
    ],
)
def test_name_that_may_have_been_taken_into_use_is_not_retired(
    partition: StorePartition, take_into_use: Callable[[StorePartition], object]
) -> None:
    looked_at = position(partition)
    take_into_use(partition)
    now = position(partition)
    refusal = partition.store.retire("trait", "CUSTOM_A", looked_at)
    assert refusal is not None and (refusal.kind, refusal.provider) == (RefusalKind.BEHIND, "CUSTOM_A")
    assert refusal == Refusal(RefusalKind.BEHIND, "CUSTOM_A", (), looked_at, refusal.actual)
    assert looked_at < (refusal.actual or 0) <= now == position(partition)
    assert partition.store.get_state("trait", "CUSTOM_A")[1] == {}
    # once the caller has followed the log to there, it has looked at what came between
    assert partition.store.retire("trait", "CUSTOM_A", refusal.actual or 0) is None


def test_changes_that_take_no_name_into_use_do_not_delay(partition: StorePartition) -> None:
    looked_at = position(partition)
    partition.store.change_provider(UpdateProvider(POOL, "q"))
    partition.store.change_provider(SetAggregates(POOL, [], 0))
    partition.hold("c1", "h1")
    partition.report("h1", {"h1": {**node_stats(ROOMY), "metrics": {"cpu.percent": 1.0}}})
    assert position(partition) > looked_at
    assert partition.store.retire("trait", "CUSTOM_A", looked_at) is None


@pytest.mark.parametrize(
    ("namespace", "name", "looked_at", "error"),
    [
        ("rack", "h1", 0, errors.InvalidRequest),
        ("aggregate", "h1", 0, errors.InvalidRequest),
        ("trait", "a b", 0, errors.InvalidName),
        ("trait", "CUSTOM_A", -1, errors.InvalidRequest),
    ],
)
def test_other_documents_are_not_retired(
    partition: StorePartition, namespace: str, name: str, looked_at: int, error: type[Exception]
) -> None:
    partition.store.put_state("rack", "h1", 0, {})
    with pytest.raises(error):
        partition.store.retire(namespace, name, looked_at)
    assert partition.store.get_state("rack", "h1")[1] == {}


def test_store_without_the_namespace_has_no_such_names(make_partition: Any) -> None:
    with pytest.raises(errors.UnknownNamespace):
        make_partition().store.retire("trait", "CUSTOM_A", 0)


def test_names_on_another_server_are_not_retired() -> None:
    store = MemoryStore("p1", namespaces=["trait"])
    server: Any = object()
    store.external = ExternalStates(server, ["trait"])
    with pytest.raises(errors.InvalidRequest, match="namespace 'trait' is on another server"):
        store.retire("trait", "CUSTOM_A", 0)
