# SPDX-License-Identifier: Apache-2.0
"""Declared host state in memcached: versions, following, and loss of documents."""

import threading
import uuid
from collections.abc import Iterator

import pytest

from devstack.servers.errors import BinaryMissing
from devstack.servers.memcached import MemcachedServer
from rpcapi import errors
from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.replication.replica import Replica
from scheduler_svc.store.composite import CompositeStore
from scheduler_svc.store.factory import attach_state_store
from scheduler_svc.store.memcached import MemcachedStates
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.records import HostReport
from tests.conftest import missing
from tests.run_folders import claim_folder, release_folder
from tests.unit.scheduler_svc.store.backends import memory_partition
from tests.unit.scheduler_svc.store.store_partition import ROOMY, StorePartition, node_stats, poll

# The tests of declared host state run here too, except those of the log, which memcached does not have.
from tests.unit.scheduler_svc.store.test_declared_states import (  # noqa: F401 - collected by their names
    test_document_is_read_and_listed_as_it_was_put,
    test_document_may_contain_keys_that_the_store_uses,
    test_document_version_is_never_reused,
    test_documents_are_paged_by_name,
    test_invalid_document_is_rejected,
    test_repeated_update_changes_nothing,
    test_undeclared_namespaces_and_host_documents_are_rejected,
    test_update_with_an_old_version_is_a_conflict,
    test_values_equal_only_in_python_are_a_change,
)


@pytest.fixture(scope="module")
def server() -> Iterator[MemcachedServer]:
    """A memcached for these tests; each test uses a new partition."""
    memcached = MemcachedServer(claim_folder())
    try:
        memcached.start()
    except BinaryMissing as why:
        missing(why)
    yield memcached
    memcached.stop()
    release_folder(memcached.folder)


@pytest.fixture
def store(server: MemcachedServer) -> Iterator[CompositeStore]:
    """A store with namespace ``rack`` in memcached, and ``power`` not."""
    inner = MemoryStore(uuid.uuid4().hex[:8], namespaces=["rack", "power"])
    composite = attach_state_store(inner, server.url(), ["rack"], ["rack", "power"])
    assert isinstance(composite, CompositeStore)
    yield composite
    composite.close()


@pytest.fixture
def partition(server: MemcachedServer) -> Iterator[StorePartition]:
    """A partition with all declared namespaces in memcached."""
    store_partition = memory_partition(namespaces=["rack", "power"], partition=uuid.uuid4().hex[:8])
    store_partition.store = attach_state_store(
        store_partition.store, server.url(), ["rack", "power"], ["rack", "power"]
    )
    yield store_partition
    store_partition.store.close()


def new_entries(store: CompositeStore, position: int) -> list[LogEntry]:
    """Return the next entries that ``follow`` returns."""
    entries: list[LogEntry] = []
    poll(lambda: bool(entries.extend(store.follow(position, 10) or ()) or entries))
    return entries


def test_document_update_requires_the_read_version(store: CompositeStore) -> None:
    first = store.put_state("rack", "h1", 0, {"power": 1})
    assert store.get_state("rack", "h1") == (first, {"power": 1})
    # A repeated update changes nothing.
    assert store.put_state("rack", "h1", 0, {"power": 1}) == first
    second = store.put_state("rack", "h1", first, {"power": 2})
    assert second > first
    for version in (0, first):
        with pytest.raises(errors.VersionConflict):
            store.put_state("rack", "h1", version, {"power": 3})
        with pytest.raises(errors.VersionConflict):
            store.delete_state("rack", "h1", version)
    store.delete_state("rack", "h1", second)
    store.delete_state("rack", "h1", second)
    with pytest.raises(errors.UnknownHost):
        store.get_state("rack", "h1")
    assert store.put_state("rack", "h1", 0, {"power": 1}) > second


def test_memcached_documents_are_listed_in_pages(store: CompositeStore) -> None:
    names = [f"h{number:03}" for number in range(150)]
    for name in names:
        store.put_state("rack", name, 0, {"of": name})
    first, marker = store.list_state("rack", None, 100)
    second, end = store.list_state("rack", marker, 100)
    assert [name for name, _version, document in [*first, *second] if document == {"of": name}] == names
    assert end is None


def test_concurrent_writers_lose_no_change(server: MemcachedServer) -> None:
    partition = uuid.uuid4().hex[:8]
    done = []

    def count(number: int) -> None:
        states = MemcachedStates(server.url(), partition)
        for turn in range(20):
            while True:
                try:
                    version, document = states.get("rack", "sum")
                except errors.UnknownHost:
                    version, document = 0, {"n": 0, "by": ""}
                try:
                    states.put("rack", "sum", version, {"n": document["n"] + 1, "by": f"{number}.{turn}"})
                except errors.VersionConflict:
                    continue
                break
        states.close()
        done.append(number)

    threads = [threading.Thread(target=count, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(done) == [0, 1, 2, 3]
    assert MemcachedStates(server.url(), partition).get("rack", "sum")[1]["n"] == 80


def test_follow_returns_changed_documents_that_are_not_logged(store: CompositeStore) -> None:
    version = store.put_state("rack", "h1", 0, {"power": 1})
    store.put_state("power", "h1", 0, {"on": True})
    start = store.snapshot(["rack", "power"])
    assert start.states == {"rack": {"h1": {"power": 1}}, "power": {"h1": {"on": True}}}
    store.put_state("rack", "h2", 0, {"power": 2})
    store.delete_state("rack", "h1", version)
    assert new_entries(store, start.position) == [
        LogEntry(start.position, "state", {"rack": {"h2": {"power": 2}, "h1": None}})
    ]
    # Log entries are followed as before.
    position = store.put_state("power", "h2", 0, {"on": False})
    entries = new_entries(store, start.position)
    assert entries == [LogEntry(position, "state", {"power": {"h2": {"on": False}}})]
    assert store.snapshot(["rack", "power"]).states["rack"] == {"h2": {"power": 2}}


def test_documents_lost_by_memcached_do_not_exist(run_folder) -> None:
    server = MemcachedServer(run_folder)
    try:
        server.start()
    except BinaryMissing as why:
        missing(why)
    try:
        inner = MemoryStore("p1", namespaces=["rack"])
        store = attach_state_store(inner, server.url(), ["rack"], ["rack"])
        assert isinstance(store, CompositeStore)
        version = store.put_state("rack", "h1", 0, {"power": 1})
        start = store.snapshot(["rack"])
        server.kill()
        # While memcached is down, the last known documents stay, and everything else works.
        assert store.follow(start.position, 10) == []
        store.heartbeat("m1", "gantt-conductor")
        with pytest.raises(errors.StoreUnavailable):
            store.get_state("rack", "h1")
        server.start()
        position = inner.snapshot().position
        entries = new_entries(store, position)
        assert entries == [LogEntry(position, "state", {"rack": {"h1": None}})]
        with pytest.raises(errors.VersionConflict):
            store.put_state("rack", "h1", version, {"power": 1})
        assert store.put_state("rack", "h1", 0, {"power": 1}) > version
    finally:
        server.kill()


def test_undeclared_external_namespace_is_rejected(server: MemcachedServer) -> None:
    with pytest.raises(errors.BadConfiguration, match="state_namespaces: rak not declared"):
        attach_state_store(MemoryStore("p1", namespaces=["rack"]), server.url(), ["rak"], ["rack"])


def test_document_above_the_item_size_is_rejected(store: CompositeStore) -> None:
    with pytest.raises(errors.InvalidRequest):
        store.put_state("rack", "h1", 0, {"text": "x" * 70_000})


def test_host_table_applies_documents_from_memcached(store: CompositeStore) -> None:
    store.update_stats("h1", HostReport(incarnation=1, sequence=1, nodes={"h1": node_stats(ROOMY)}))
    version = store.put_state("rack", "h1", 0, {"watts": 300})
    replica = Replica(store, table=HostTable([store.partition], {"rack": frozenset({"watts"})}))
    replica.load()

    def watts() -> float:
        with replica.table.reading() as view:
            return float(view.state("rack", "watts")[0])

    assert watts() == 300
    store.put_state("rack", "h1", version, {"watts": 500})

    def has_come() -> bool:
        replica.step(10)
        return watts() == 500

    poll(has_come)
