# SPDX-License-Identifier: Apache-2.0
"""Declared host state in memcached, beside a store: what is promised of it, and what it is to lose it."""

import threading
import uuid
from collections.abc import Iterator

import pytest

from devstack.servers.errors import BinaryMissing
from devstack.servers.memcached import MemcachedServer
from rpcapi import errors
from scheduler_svc.following.replica import Replica
from scheduler_svc.store.beside import CompositeStore
from scheduler_svc.store.factory import attach_state_store
from scheduler_svc.store.memcached import MemcachedStates
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.records import LogEntry
from scheduler_svc.table.table import HostTable
from tests.conftest import missing
from tests.run_folders import claim_folder, release_folder
from tests.unit.scheduler_svc.store.backends import memory_world

# The suite of declared host state runs here too, but for what it says of the log: memcached keeps none.
from tests.unit.scheduler_svc.store.test_declared_states import (  # noqa: F401 - collected by their names
    test_a_document_is_created_read_and_listed_as_it_was_put,
    test_a_repeated_update_finds_its_own_work_done,
    test_a_version_is_never_used_twice,
    test_an_update_names_the_version_it_read,
    test_documents_are_paged_by_name,
    test_keys_of_the_stores_own_may_be_in_a_document,
    test_namespaces_that_are_not_declared_and_documents_that_go_with_their_hosts,
    test_what_is_no_document_is_refused,
    test_what_only_python_takes_for_the_same_is_a_change,
)
from tests.unit.scheduler_svc.store.world import ROOMY, World, node_stats, poll


@pytest.fixture(scope="module")
def server() -> Iterator[MemcachedServer]:
    """One memcached for these tests: each has a partition of its own."""
    made = MemcachedServer(claim_folder())
    try:
        made.start()
    except BinaryMissing as why:
        missing(why)
    yield made
    made.stop()
    release_folder(made.folder)


@pytest.fixture
def store(server: MemcachedServer) -> Iterator[CompositeStore]:
    """A store whose namespace ``rack`` is in memcached, and ``power`` is not."""
    inner = MemoryStore(uuid.uuid4().hex[:8], namespaces=["rack", "power"])
    made = attach_state_store(inner, server.url(), ["rack"], ["rack", "power"])
    assert isinstance(made, CompositeStore)
    yield made
    made.close()


@pytest.fixture
def world(server: MemcachedServer) -> Iterator[World]:
    """A partition whose declared namespaces are all in memcached."""
    made = memory_world(namespaces=["rack", "power"], partition=uuid.uuid4().hex[:8])
    made.store = attach_state_store(made.store, server.url(), ["rack", "power"], ["rack", "power"])
    yield made
    made.store.close()


def news(store: CompositeStore, position: int) -> list[LogEntry]:
    """Return what a follower is given next, that is not in the log."""
    found: list[LogEntry] = []
    poll(lambda: bool(found.extend(store.follow(position, 10) or ()) or found))
    return found


def test_a_document_is_changed_at_the_version_that_was_read(store: CompositeStore) -> None:
    first = store.put_state("rack", "h1", 0, {"power": 1})
    assert store.get_state("rack", "h1") == (first, {"power": 1})
    # The same once more finds its own work done.
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


def test_documents_are_listed_in_pages(store: CompositeStore) -> None:
    names = [f"h{number:03}" for number in range(150)]
    for name in names:
        store.put_state("rack", name, 0, {"of": name})
    first, marker = store.list_state("rack", None, 100)
    second, end = store.list_state("rack", marker, 100)
    assert [name for name, _version, document in [*first, *second] if document == {"of": name}] == names
    assert end is None


def test_writers_that_meet_lose_no_change(server: MemcachedServer) -> None:
    partition = uuid.uuid4().hex[:8]
    done = []

    def count(number: int) -> None:
        states = MemcachedStates(server.url(), partition)
        for turn in range(20):
            while True:
                try:
                    version, held = states.get("rack", "sum")
                except errors.UnknownHost:
                    version, held = 0, {"n": 0, "by": ""}
                try:
                    states.put("rack", "sum", version, {"n": held["n"] + 1, "by": f"{number}.{turn}"})
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


def test_who_follows_is_told_of_documents_that_no_log_has(store: CompositeStore) -> None:
    kept = store.put_state("rack", "h1", 0, {"power": 1})
    store.put_state("power", "h1", 0, {"on": True})
    start = store.snapshot(["rack", "power"])
    assert start.states == {"rack": {"h1": {"power": 1}}, "power": {"h1": {"on": True}}}
    store.put_state("rack", "h2", 0, {"power": 2})
    store.delete_state("rack", "h1", kept)
    assert news(store, start.position) == [
        LogEntry(start.position, "state", {"rack": {"h2": {"power": 2}, "h1": None}})
    ]
    # The log goes on as it does without.
    position = store.put_state("power", "h2", 0, {"on": False})
    told = news(store, start.position)
    assert told == [LogEntry(position, "state", {"power": {"h2": {"on": False}}})]
    assert store.snapshot(["rack", "power"]).states["rack"] == {"h2": {"power": 2}}


def test_what_memcached_loses_was_never_told(run_folder) -> None:
    server = MemcachedServer(run_folder)
    try:
        server.start()
    except BinaryMissing as why:
        missing(why)
    try:
        store = attach_state_store(MemoryStore("p1", namespaces=["rack"]), server.url(), ["rack"], ["rack"])
        assert isinstance(store, CompositeStore)
        version = store.put_state("rack", "h1", 0, {"power": 1})
        start = store.snapshot(["rack"])
        server.kill()
        # While it is away, decisions go on with what was seen, and nothing else is hindered.
        assert store.follow(start.position, 10) == []
        store.heartbeat("m1", "gantt-conductor")
        with pytest.raises(errors.StoreUnavailable):
            store.get_state("rack", "h1")
        server.start()
        position = store.store.snapshot().position
        told = news(store, position)
        assert told == [LogEntry(position, "state", {"rack": {"h1": None}})]
        with pytest.raises(errors.VersionConflict):
            store.put_state("rack", "h1", version, {"power": 1})
        assert store.put_state("rack", "h1", 0, {"power": 1}) > version
    finally:
        server.kill()


def test_a_namespace_nobody_declared_cannot_be_kept_apart(server: MemcachedServer) -> None:
    with pytest.raises(errors.BadConfiguration, match="state_namespaces names rak"):
        attach_state_store(MemoryStore("p1", namespaces=["rack"]), server.url(), ["rak"], ["rack"])


def test_a_document_beyond_an_item_of_memcached_is_refused(store: CompositeStore) -> None:
    with pytest.raises(errors.InvalidRequest):
        store.put_state("rack", "h1", 0, {"text": "x" * 70_000})


def test_a_workers_table_takes_over_what_is_told_in_memcached(store: CompositeStore) -> None:
    store.update_stats("h1", incarnation=1, sequence=1, base=0, full=True, nodes={"h1": node_stats(ROOMY)})
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
