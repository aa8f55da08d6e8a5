# SPDX-License-Identifier: Apache-2.0
"""Host state by namespace: merging, versions, writers, and filtered pages."""

import pytest

from rpcapi import errors
from scheduler_svc.core.namespaces.namespace import Namespace
from scheduler_svc.core.namespaces.registry import NamespaceRegistry
from scheduler_svc.host_state import documents as host_states
from scheduler_svc.host_state.documents import HostStates
from scheduler_svc.replication.partitions import OpenPartition, OpenPartitions
from scheduler_svc.replication.replica import Replica
from scheduler_svc.store.memory import MemoryStore
from tests.support.scheduler.hosts import join, node

RACK = {"type": "object", "properties": {"power": {"enum": ["on", "off"]}}, "maxProperties": 3}
REGISTRY = NamespaceRegistry([Namespace("rack", "rackd", RACK)])


@pytest.fixture
def states():
    return _states_of(MemoryStore("default", namespaces=REGISTRY.stored_names))


def _states_of(store):
    return HostStates(OpenPartitions([OpenPartition(store, Replica(store))], "default"), REGISTRY)


def test_update_merges_top_level_keys_and_null_removes_key(states):
    created = states.update("rack", "h1", 0, {"power": "on", "row": {"x": 1}}, "rackd")
    changed = states.update("rack", "h1", created.version, {"power": None, "row": {"y": 2}, "note": "a"}, "rackd")
    assert changed.document == {"row": {"y": 2}, "note": "a"}
    assert changed.version > created.version
    assert states.get("rack", "h1") == changed


def test_repeated_update_returns_the_same_document(states):
    created = states.update("rack", "h1", 0, {"power": "on", "gone": None}, "rackd")
    assert states.update("rack", "h1", 0, {"power": "on", "gone": None}, "rackd") == created
    changed = states.update("rack", "h1", created.version, {"power": "off"}, "rackd")
    assert states.update("rack", "h1", created.version, {"power": "off"}, "rackd") == changed


def test_true_and_1_are_distinct_values(states):
    created = states.update("rack", "h1", 0, {"lit": 1, "row": {"x": 0}}, "rackd")
    changed = states.update("rack", "h1", created.version, {"lit": True, "row": {"x": False}}, "rackd")
    assert (changed.document["lit"] is True, changed.document["row"]["x"] is False) == (True, True)
    assert changed.version > created.version
    assert states.list("rack", None, 10, {"lit": 1}) == ([], None)
    assert states.list("rack", None, 10, {"lit": True}) == ([changed], None)


def test_empty_document_can_be_created(states):
    created = states.update("rack", "h1", 0, {}, "rackd")
    assert created.version > 0
    assert states.get("rack", "h1") == created


def test_wrong_version_raises_conflict_and_changes_nothing(states):
    created = states.update("rack", "h1", 0, {"power": "on"}, "rackd")
    changed = states.update("rack", "h1", created.version, {"power": "off"}, "rackd")
    for version in (0, created.version, changed.version + 1):
        with pytest.raises(errors.VersionConflict):
            states.update("rack", "h1", version, {"note": "x"}, "rackd")
    assert states.get("rack", "h1") == changed


def test_missing_document_and_missing_host_have_distinct_messages(states):
    with pytest.raises(errors.UnknownHost, match="no document 'h1' in namespace 'rack'"):
        states.get("rack", "h1")
    with pytest.raises(errors.UnknownHost, match="Unknown host or node 'h1'"):
        states.get("service", "h1")


def test_update_of_missing_document_raises_unknown_host(states):
    with pytest.raises(errors.UnknownHost):
        states.update("rack", "h1", 7, {"power": "on"}, "rackd")


def test_schema_violation_is_refused_and_changes_nothing(states):
    created = states.update("rack", "h1", 0, {"power": "on", "a": 1}, "rackd")
    for changes in ({"power": "dim"}, {"b": 1, "c": 2}):
        with pytest.raises(errors.InvalidHostState, match="namespace 'rack'"):
            states.update("rack", "h1", created.version, changes, "rackd")
    assert states.get("rack", "h1") == created


def test_too_large_document_is_refused(states):
    with pytest.raises(errors.InvalidRequest, match="65536 bytes"):
        states.update("rack", "h1", 0, {"note": "x" * 70_000}, "rackd")


@pytest.mark.parametrize("namespace", ["rack", "aggregate", "volume", "network", "service", "compute"])
def test_undeclared_writer_is_refused(states, namespace):
    with pytest.raises(errors.WriterRefused):
        states.update(namespace, "h1", 0, {"hosts": []}, "another-writer")
    with pytest.raises(errors.WriterRefused):
        states.delete(namespace, "h1", 1, "another-writer")


def test_undeclared_namespace_is_unknown(states):
    for call in (
        lambda: states.get("weather", "h1"),
        lambda: states.list("weather", None, 10),
        lambda: states.update("weather", "h1", 0, {}, "x"),
        lambda: states.delete("weather", "h1", 1, "x"),
    ):
        with pytest.raises(errors.UnknownNamespace):
            call()


def test_delete_checks_version_and_is_idempotent(states):
    created = states.update("rack", "h1", 0, {"power": "on"}, "rackd")
    with pytest.raises(errors.VersionConflict):
        states.delete("rack", "h1", created.version + 1, "rackd")
    states.delete("rack", "h1", created.version, "rackd")
    states.delete("rack", "h1", created.version, "rackd")
    with pytest.raises(errors.UnknownHost):
        states.get("rack", "h1")


def test_only_reports_write_namespace_compute(states):
    with pytest.raises(errors.InvalidRequest, match="only by host reports"):
        states.update("compute", "h1/1", 0, {"traits": []}, "gantt-compute")


def test_only_enablement_of_a_service_can_be_updated():
    store = MemoryStore("default", namespaces=REGISTRY.stored_names)
    states = _states_of(store)
    join(store, {"h1/1": node()})
    read = states.get("service", "h1")
    off = states.update("service", "h1", read.version, {"enabled": False, "disabled_reason": "fan"}, "gantt")
    assert (off.document["enabled"], off.document["disabled_reason"]) == (False, "fan")
    on = states.update("service", "h1", off.version, {"enabled": True, "disabled_reason": None}, "gantt")
    assert (on.document["enabled"], on.document["disabled_reason"], on.document["binary"]) == (
        True,
        None,
        "gantt-compute",
    )
    with pytest.raises(errors.VersionConflict):
        states.update("service", "h1", read.version, {"enabled": False}, "gantt")
    with pytest.raises(errors.InvalidRequest, match="binary"):
        states.update("service", "h1", on.version, {"binary": "x"}, "gantt")


# -- pages -----------------------------------------------------------------------------------------------------


@pytest.fixture
def many(states, monkeypatch):
    monkeypatch.setattr(host_states, "MAX_SCANNED", 7)
    monkeypatch.setattr(host_states, "CHUNK_SIZE", 3)
    for name in ["h1", "h1-a", "h1/1", "h1/2", "h10", "h10/1", *[f"z{number:02}" for number in range(20)]]:
        states.update("rack", name, 0, {"power": "on" if name.endswith("1") else "off"}, "rackd")
    return states


def every(states, limit, matching=None):
    """Return the names on all pages, and the number of pages."""
    documents, marker, pages = [], None, 0
    while True:
        page, marker = states.list("rack", marker, limit, matching)
        assert len(page) <= limit
        documents += [state.name for state in page]
        pages += 1
        if marker is None:
            return documents, pages


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 26, 100])
def test_pages_contain_every_document_once(many, limit):
    documents, _pages = every(many, limit)
    assert len(documents) == 26
    assert documents == sorted(documents)


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_matching_filters_by_values(many, limit):
    documents, pages = every(many, limit, {"power": "on"})
    assert documents == ["h1", "h1/1", "h10/1", "z01", "z11"]
    assert pages >= 26 // 7, "one call looked at more than it may"
    assert every(many, limit, {"power": "on", "row": None})[0] == []


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_matching_host_includes_its_nodes(many, limit):
    assert every(many, limit, {"host": "h1"})[0] == ["h1", "h1/1", "h1/2"]
    assert every(many, limit, {"host": "h1", "power": "off"})[0] == ["h1/2"]
    assert every(many, limit, {"host": "h2"})[0] == []


def test_matching_host_must_be_a_string(many):
    with pytest.raises(errors.InvalidRequest, match="must be the name of a service host"):
        many.list("rack", None, 10, {"host": 7})
