# SPDX-License-Identifier: Apache-2.0
"""A store with some namespaces in memcached: documents, following, and loss of documents."""

import uuid
from collections.abc import Iterator

import pytest

from devstack.servers.errors import BinaryMissing
from rpcapi import errors
from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.replication.replica import Replica
from scheduler_svc.store.factory import attach_state_store
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.records import HostReport

# The tests of declared host state run here too, except those of the log, which memcached does not have.
from tests.contract.store.test_namespaces import (  # noqa: F401 - collected by their names
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
from tests.support.private_servers.memcached import MemcachedServer
from tests.support.servers import missing
from tests.support.store.backends import memory_partition
from tests.support.store.store_partition import ROOMY, StorePartition, node_stats, poll


@pytest.fixture
def partition(memcached_server: MemcachedServer) -> Iterator[StorePartition]:
    """A partition with all declared namespaces in memcached."""
    store_partition = memory_partition(namespaces=["rack", "power"], partition=uuid.uuid4().hex[:8])
    attach_state_store(store_partition.store, memcached_server.url(), ["rack", "power"])
    yield store_partition
    store_partition.store.close()


def new_entries(composite_store: MemoryStore, position: int) -> list[LogEntry]:
    """Return the next entries that ``follow`` returns."""
    entries: list[LogEntry] = []
    poll(lambda: bool(entries.extend(composite_store.follow(position, 10) or ()) or entries))
    return entries


def test_follow_returns_changed_documents_that_are_not_logged(composite_store: MemoryStore) -> None:
    version = composite_store.put_state("rack", "h1", 0, {"power": 1})
    composite_store.put_state("power", "h1", 0, {"on": True})
    start = composite_store.snapshot(["rack", "power"])
    assert start.states == {"rack": {"h1": {"power": 1}}, "power": {"h1": {"on": True}}}
    composite_store.put_state("rack", "h2", 0, {"power": 2})
    composite_store.delete_state("rack", "h1", version)
    assert new_entries(composite_store, start.position) == [
        LogEntry(start.position, "state", {"rack": {"h2": {"power": 2}, "h1": None}})
    ]
    # Log entries are followed as before.
    position = composite_store.put_state("power", "h2", 0, {"on": False})
    entries = new_entries(composite_store, start.position)
    assert entries == [LogEntry(position, "state", {"power": {"h2": {"on": False}}})]
    assert composite_store.snapshot(["rack", "power"]).states["rack"] == {"h2": {"power": 2}}


def test_documents_lost_by_memcached_do_not_exist(run_folder) -> None:
    server = MemcachedServer(run_folder)
    try:
        server.start()
    except BinaryMissing as why:
        missing(why)
    try:
        store = MemoryStore("p1", namespaces=["rack"])
        attach_state_store(store, server.url(), ["rack"])
        version = store.put_state("rack", "h1", 0, {"power": 1})
        start = store.snapshot(["rack"])
        server.kill()
        # While memcached is down, the last known documents stay, and everything else works.
        assert store.follow(start.position, 10) == []
        store.heartbeat("m1", "gantt-conductor")
        with pytest.raises(errors.StoreUnavailable):
            store.get_state("rack", "h1")
        server.start()
        position = store.state.position
        entries = new_entries(store, position)
        assert entries == [LogEntry(position, "state", {"rack": {"h1": None}})]
        with pytest.raises(errors.VersionConflict):
            store.put_state("rack", "h1", version, {"power": 1})
        assert store.put_state("rack", "h1", 0, {"power": 1}) > version
    finally:
        server.kill()


def test_host_table_applies_documents_from_memcached(composite_store: MemoryStore) -> None:
    composite_store.update_stats(
        "h1", HostReport(register=True, agent="a", incarnation=0, sequence=1, nodes={"h1": node_stats(ROOMY)})
    )
    version = composite_store.put_state("rack", "h1", 0, {"watts": 300})
    replica = Replica(composite_store, table=HostTable([composite_store.partition], {"rack": frozenset({"watts"})}))
    replica.load()

    def watts() -> float:
        with replica.table.reading() as view:
            return float(view.state("rack", "watts")[0])

    assert watts() == 300
    composite_store.put_state("rack", "h1", version, {"watts": 500})

    def has_come() -> bool:
        replica.step(10)
        return watts() == 500

    poll(has_come)
