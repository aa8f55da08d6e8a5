# SPDX-License-Identifier: Apache-2.0
"""Host state by namespace: merging, versions, writers, and filtered pages."""

import pytest

from rpcapi import errors
from scheduler_svc.hosts import host_states
from scheduler_svc.hosts.host_states import HostStates
from scheduler_svc.namespaces.namespace import Namespace
from scheduler_svc.namespaces.registry import NamespaceRegistry
from scheduler_svc.store.memory import MemoryStore
from tests.unit.scheduler_svc.hosts import join, node

RACK = {"type": "object", "properties": {"power": {"enum": ["on", "off"]}}, "maxProperties": 3}


@pytest.fixture
def states():
    return HostStates(*_store())


def _store():
    registry = NamespaceRegistry([Namespace("rack", "rackd", RACK)])
    return MemoryStore("default", namespaces=registry.stored_names), registry


def test_an_update_merges_top_level_keys_and_null_drops_one(states):
    made = states.update("rack", "h1", 0, {"power": "on", "row": {"x": 1}}, "rackd")
    changed = states.update("rack", "h1", made.version, {"power": None, "row": {"y": 2}, "note": "a"}, "rackd")
    assert changed.document == {"row": {"y": 2}, "note": "a"}
    assert changed.version > made.version
    assert states.get("rack", "h1") == changed


def test_a_repeated_update_is_answered_as_the_first_was(states):
    made = states.update("rack", "h1", 0, {"power": "on", "gone": None}, "rackd")
    assert states.update("rack", "h1", 0, {"power": "on", "gone": None}, "rackd") == made
    changed = states.update("rack", "h1", made.version, {"power": "off"}, "rackd")
    assert states.update("rack", "h1", made.version, {"power": "off"}, "rackd") == changed


def test_true_is_not_one_and_both_are_kept_as_written(states):
    made = states.update("rack", "h1", 0, {"lit": 1, "row": {"x": 0}}, "rackd")
    changed = states.update("rack", "h1", made.version, {"lit": True, "row": {"x": False}}, "rackd")
    assert (changed.document["lit"] is True, changed.document["row"]["x"] is False) == (True, True)
    assert changed.version > made.version
    assert states.list("rack", None, 10, {"lit": 1}) == ([], None)
    assert states.list("rack", None, 10, {"lit": True}) == ([changed], None)


def test_an_empty_document_can_be_made(states):
    made = states.update("rack", "h1", 0, {}, "rackd")
    assert made.version > 0
    assert states.get("rack", "h1") == made


def test_another_version_is_a_conflict_and_changes_nothing(states):
    made = states.update("rack", "h1", 0, {"power": "on"}, "rackd")
    changed = states.update("rack", "h1", made.version, {"power": "off"}, "rackd")
    for version in (0, made.version, changed.version + 1):
        with pytest.raises(errors.VersionConflict):
            states.update("rack", "h1", version, {"note": "x"}, "rackd")
    assert states.get("rack", "h1") == changed


def test_a_document_that_is_not_there_is_called_one_and_a_host_a_host(states):
    with pytest.raises(errors.UnknownHost, match="no document 'h1' in namespace 'rack'"):
        states.get("rack", "h1")
    with pytest.raises(errors.UnknownHost, match="No host or node named 'h1'"):
        states.get("service", "h1")


def test_an_update_of_what_is_not_there_is_told_so(states):
    with pytest.raises(errors.UnknownHost):
        states.update("rack", "h1", 7, {"power": "on"}, "rackd")


def test_what_is_against_the_schema_is_refused_and_changes_nothing(states):
    made = states.update("rack", "h1", 0, {"power": "on", "a": 1}, "rackd")
    for changes in ({"power": "dim"}, {"b": 1, "c": 2}):
        with pytest.raises(errors.InvalidHostState, match="namespace 'rack'"):
            states.update("rack", "h1", made.version, changes, "rackd")
    assert states.get("rack", "h1") == made


def test_what_is_too_large_is_refused(states):
    with pytest.raises(errors.InvalidRequest, match="65536 bytes"):
        states.update("rack", "h1", 0, {"note": "x" * 70_000}, "rackd")


@pytest.mark.parametrize("namespace", ["rack", "aggregate", "volume", "network", "service", "compute"])
def test_a_writer_that_is_not_the_declared_one_is_refused(states, namespace):
    with pytest.raises(errors.WriterRefused):
        states.update(namespace, "h1", 0, {"hosts": []}, "somebody")
    with pytest.raises(errors.WriterRefused):
        states.delete(namespace, "h1", 1, "somebody")


def test_a_namespace_that_nobody_declared_is_unknown(states):
    for call in (
        lambda: states.get("weather", "h1"),
        lambda: states.list("weather", None, 10),
        lambda: states.update("weather", "h1", 0, {}, "x"),
        lambda: states.delete("weather", "h1", 1, "x"),
    ):
        with pytest.raises(errors.UnknownNamespace):
            call()


def test_a_delete_names_the_version_and_is_fine_a_second_time(states):
    made = states.update("rack", "h1", 0, {"power": "on"}, "rackd")
    with pytest.raises(errors.VersionConflict):
        states.delete("rack", "h1", made.version + 1, "rackd")
    states.delete("rack", "h1", made.version, "rackd")
    states.delete("rack", "h1", made.version, "rackd")
    with pytest.raises(errors.UnknownHost):
        states.get("rack", "h1")


def test_reports_alone_write_compute(states):
    with pytest.raises(errors.InvalidRequest, match="reports only"):
        states.update("compute", "h1/1", 0, {"traits": []}, "gantt-compute")


def test_an_operator_changes_enablement_and_nothing_else_of_a_service():
    store, registry = _store()
    states = HostStates(store, registry)
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
    monkeypatch.setattr(host_states, "SCANNED", 7)
    monkeypatch.setattr(host_states, "CHUNK", 3)
    for name in ["h1", "h1-a", "h1/1", "h1/2", "h10", "h10/1", *[f"z{number:02}" for number in range(20)]]:
        states.update("rack", name, 0, {"power": "on" if name.endswith("1") else "off"}, "rackd")
    return states


def every(states, limit, matching=None):
    """Return all names that the pages hold, and how many pages there were."""
    found, marker, pages = [], None, 0
    while True:
        page, marker = states.list("rack", marker, limit, matching)
        assert len(page) <= limit
        found += [state.name for state in page]
        pages += 1
        if marker is None:
            return found, pages


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 26, 100])
def test_pages_hold_every_document_once(many, limit):
    found, _pages = every(many, limit)
    assert len(found) == 26
    assert found == sorted(found)


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_a_filter_keeps_what_has_these_values(many, limit):
    found, pages = every(many, limit, {"power": "on"})
    assert found == ["h1", "h1/1", "h10/1", "z01", "z11"]
    assert pages >= 26 // 7, "one call looked at more than it may"
    assert every(many, limit, {"power": "on", "row": None})[0] == []


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_a_host_means_itself_and_its_nodes(many, limit):
    assert every(many, limit, {"host": "h1"})[0] == ["h1", "h1/1", "h1/2"]
    assert every(many, limit, {"host": "h1", "power": "off"})[0] == ["h1/2"]
    assert every(many, limit, {"host": "h2"})[0] == []


def test_a_host_that_is_no_name_is_refused(many):
    with pytest.raises(errors.InvalidRequest, match="must be the name of a service host"):
        many.list("rack", None, 10, {"host": 7})
