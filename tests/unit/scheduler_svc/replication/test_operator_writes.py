# SPDX-License-Identifier: Apache-2.0
"""What a replica keeps of the writes of operators; tests/regressions has how it repeats those that were forgotten."""

from typing import Any

import pytest

from rpcapi import errors
from scheduler_svc.core.records import LogEntry, Snapshot
from scheduler_svc.replication.operator_writes import OperatorWrites
from scheduler_svc.store.memory import MemoryStore

DOCUMENT = {"hosts": ["h1"]}
GROUP = {"project": "p", "policy": "affinity", "max_per_host": 1, "created_ms": 1}
POSITION = 20  # of the replica; the store has forgotten it


@pytest.fixture
def store() -> MemoryStore:
    new_store = MemoryStore("p", namespaces=["aggregate", "server_group", "rack"])
    new_store.begin_epoch()
    return new_store


def entry(position: int, kind: str, **payload: object) -> LogEntry:
    return LogEntry(position, kind, payload)


def repeated(store: MemoryStore, *entries: LogEntry, position: int = POSITION) -> dict[str, dict[str, object]]:
    """Apply entries that the store's log lacks; return the aggregates after they were repeated."""
    writes = OperatorWrites()
    for applied in entries:
        writes.apply(applied)
    writes.repeat_forgotten(store, position)
    return {name: document for name, _version, document in store.list_state("aggregate")[0]}


def test_last_write_of_each_name_is_repeated(store: MemoryStore) -> None:
    first = entry(11, "state", aggregate={"az1": {"hosts": []}, "az2": DOCUMENT})
    second = entry(12, "state", aggregate={"az1": DOCUMENT})
    assert repeated(store, first, second) == {"az1": DOCUMENT, "az2": DOCUMENT}


@pytest.mark.parametrize("position", [1 << 20, 1 << 30])
def test_position_that_the_log_does_not_replace_by_an_epoch_proves_no_loss(store: MemoryStore, position: int) -> None:
    store.put_state("rack", "h1", 0, {"watts": 1})
    assert repeated(store, entry(11, "state", aggregate={"az1": DOCUMENT}), position=position + 2) == {}


def test_other_namespaces_and_unchanged_services_are_left_out(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = {"version": 1, "enabled": True, "disabled_reason": None}
    monkeypatch.setattr(store, "get_state", pytest.fail)
    rack = entry(11, "state", rack={"h1": {"watts": 1}})
    assert repeated(store, rack, entry(12, "service", h1=service, h2=None), entry(13, "alive", h1=True)) == {}


def test_removed_service_is_left_out(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    service = {"version": 2, "enabled": False, "disabled_reason": None}
    monkeypatch.setattr(store, "get_state", pytest.fail)
    assert repeated(store, entry(11, "service", h1=service), entry(12, "service", h1=None)) == {}


def test_server_groups_are_repeated(store: MemoryStore) -> None:
    writes = OperatorWrites()
    figures: Any = {"providers": {}, "used": {}, "services": {}, "alive": {}, "opened": {}}
    writes.load(Snapshot(epoch=1, position=10, states={"server_group": {"g1": GROUP}}, **figures))
    writes.apply(entry(11, "state", server_group={"g2": GROUP}))
    writes.repeat_forgotten(store, POSITION)
    rows = store.list_state("server_group")[0]
    assert [(name, document) for name, _version, document in rows] == [("g1", GROUP), ("g2", GROUP)]


def test_load_replaces_all(store: MemoryStore) -> None:
    writes = OperatorWrites()
    writes.apply(entry(11, "state", aggregate={"az1": DOCUMENT}))
    figures: Any = {"providers": {}, "used": {}, "services": {}, "alive": {}, "opened": {}}
    writes.load(Snapshot(epoch=1, position=12, states={"aggregate": {"az2": DOCUMENT}}, **figures))
    writes.repeat_forgotten(store, POSITION)
    assert [name for name, _version, _document in store.list_state("aggregate")[0]] == ["az2"]


def test_write_that_loses_a_race_is_skipped(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def conflict(*_arguments: object) -> int:
        raise errors.VersionConflict(what="aggregate 'az1'", version=3, expected=0)

    monkeypatch.setattr(store, "put_state", conflict)
    assert repeated(store, entry(11, "state", aggregate={"az1": DOCUMENT})) == {}


def test_outage_is_raised(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_arguments: object) -> int:
        raise errors.StoreUnavailable(why="it is away")

    monkeypatch.setattr(store, "put_state", away)
    with pytest.raises(errors.StoreUnavailable):
        repeated(store, entry(11, "state", aggregate={"az1": DOCUMENT}))
