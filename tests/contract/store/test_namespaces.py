# SPDX-License-Identifier: Apache-2.0
"""Documents of declared namespaces."""

from typing import Any

import pytest

from rpcapi import errors
from scheduler_svc.core.records import LogEntry
from scheduler_svc.store import validation
from tests.support.store.store_partition import StorePartition

RACK = {"rack": "r1", "power": {"watts": 350.5, "feeds": ["a", "b"]}, "empty": [], "none": None}


@pytest.fixture
def partition(make_partition: Any) -> StorePartition:
    """A new partition with two declared namespaces."""
    return make_partition(namespaces=("rack", "power"))


def entries_after(partition: StorePartition, position: int) -> list[LogEntry]:
    entries = partition.store.follow(position, 0)
    assert entries is not None
    return entries


def test_document_is_read_and_listed_as_it_was_put(partition: StorePartition) -> None:
    version = partition.store.put_state("rack", "h1/n1", 0, RACK)
    assert version > 0
    assert partition.store.get_state("rack", "h1/n1") == (version, RACK)
    assert partition.store.list_state("rack") == ([("h1/n1", version, RACK)], None)
    assert partition.store.list_state("power") == ([], None)


def test_changed_document_is_in_log_and_snapshot(partition: StorePartition) -> None:
    before = partition.store.snapshot(("rack",))
    partition.store.put_state("rack", "h1", 0, RACK)
    after = partition.store.snapshot(("rack", "power"))
    assert before.states == {"rack": {}}
    assert after.states == {"rack": {"h1": RACK}, "power": {}}
    assert [(entry.kind, entry.payload) for entry in entries_after(partition, before.position)] == [
        ("state", {"rack": {"h1": RACK}})
    ]
    assert partition.store.snapshot().states == {}


def test_update_with_an_old_version_is_a_conflict(partition: StorePartition) -> None:
    first = partition.store.put_state("rack", "h1", 0, RACK)
    second = partition.store.put_state("rack", "h1", first, {"rack": "r2"})
    assert second > first
    position = partition.store.snapshot().position
    for version in (0, first, second + 1):
        with pytest.raises(errors.VersionConflict):
            partition.store.put_state("rack", "h1", version, {"rack": "r3"})
    assert partition.store.get_state("rack", "h1") == (second, {"rack": "r2"})
    assert partition.store.snapshot().position == position


def test_repeated_update_changes_nothing(partition: StorePartition) -> None:
    first = partition.store.put_state("rack", "h1", 0, RACK)
    position = partition.store.snapshot().position
    assert partition.store.put_state("rack", "h1", 0, dict(reversed(RACK.items()))) == first
    assert partition.store.snapshot().position == position


def test_document_delete_requires_its_version_and_is_idempotent(partition: StorePartition) -> None:
    first = partition.store.put_state("rack", "h1", 0, RACK)
    with pytest.raises(errors.VersionConflict):
        partition.store.delete_state("rack", "h1", first + 1)
    position = partition.store.snapshot().position
    for _ in range(2):
        partition.store.delete_state("rack", "h1", first)
    assert [(entry.kind, entry.payload) for entry in entries_after(partition, position)] == [
        ("state", {"rack": {"h1": None}})
    ]
    with pytest.raises(errors.UnknownHost):
        partition.store.get_state("rack", "h1")


def test_document_version_is_never_reused(partition: StorePartition) -> None:
    """A writer that read a document before its deletion must not overwrite a document created since."""
    first = partition.store.put_state("rack", "h1", 0, RACK)
    partition.store.delete_state("rack", "h1", first)
    again = partition.store.put_state("rack", "h1", 0, {"rack": "r2"})
    assert again > first
    with pytest.raises(errors.VersionConflict):
        partition.store.put_state("rack", "h1", first, {"rack": "r3"})


def test_documents_are_paged_by_name(partition: StorePartition) -> None:
    for name in ("h3", "h1/n2", "h1/n1"):
        partition.store.put_state("rack", name, 0, {"of": name})
    page, marker = partition.store.list_state("rack", limit=2)
    assert [name for name, _version, _document in page] == ["h1/n1", "h1/n2"]
    page, marker = partition.store.list_state("rack", marker=marker, limit=2)
    assert ([name for name, _version, _document in page], marker) == (["h3"], None)


@pytest.mark.parametrize(
    "document",
    [[], "text", {"x": float("nan")}, {"x": object()}, {"x": "y" * validation.MAX_STATE}, {"x": "\ud800"}],
    ids=["list", "text", "not a number", "no JSON", "too large", "half a character"],
)
def test_invalid_document_is_rejected(partition: StorePartition, document: Any) -> None:
    with pytest.raises(errors.InvalidRequest):
        partition.store.put_state("rack", "h1", 0, document)
    assert partition.store.list_state("rack") == ([], None)


def test_undeclared_namespaces_and_host_documents_are_rejected(partition: StorePartition) -> None:
    partition.add_host("h1")
    with pytest.raises(errors.UnknownNamespace, match="power, rack"):
        partition.store.put_state("volume", "h1", 0, RACK)
    with pytest.raises(errors.UnknownNamespace):
        partition.store.delete_state("volume", "h1", 1)
    for namespace in ("compute", "service"):
        with pytest.raises(errors.InvalidRequest, match="remove the host"):
            partition.store.delete_state(namespace, "h1", 1)


def test_document_may_contain_keys_that_the_store_uses(partition: StorePartition) -> None:
    document = {"schema": 7, "version": "x", "state": {"version": 1}}
    version = partition.store.put_state("rack", "h1", 0, document)
    assert partition.store.get_state("rack", "h1") == (version, document)


@pytest.mark.parametrize("other", [{"feeds": True}, {"feeds": 1.0}], ids=["true", "a fraction"])
def test_values_equal_only_in_python_are_a_change(partition: StorePartition, other: dict[str, Any]) -> None:
    version = partition.store.put_state("rack", "h1", 0, {"feeds": 1})
    changed = partition.store.put_state("rack", "h1", version, other)
    assert changed > version
    assert repr(partition.store.get_state("rack", "h1")) == repr((changed, other))
