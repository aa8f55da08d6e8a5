# SPDX-License-Identifier: Apache-2.0
"""What a replica keeps of the writes of operators; tests/regressions has how it repeats those that were forgotten."""

import pytest

from rpcapi import errors
from scheduler_svc.core.records import LogEntry
from scheduler_svc.replication.operator_writes import MAX_WRITES, OperatorWrites
from scheduler_svc.store.memory import MemoryStore

DOCUMENT = {"hosts": ["h1"]}


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore("p", namespaces=["aggregate", "rack"])


def entry(position: int, kind: str, **payload: object) -> LogEntry:
    return LogEntry(position, kind, payload)


def repeated(store: MemoryStore, *entries: LogEntry) -> dict[str, dict[str, object]]:
    """Note entries that the store's log lacks; return the aggregates after they were repeated."""
    writes = OperatorWrites()
    for noted in entries:
        writes.note(noted)
    writes.repeat_forgotten(store)
    return {name: document for name, _version, document in store.list_state("aggregate")[0]}


def test_last_write_of_each_name_is_repeated(store: MemoryStore) -> None:
    first = entry(11, "state", aggregate={"az1": {"hosts": []}, "az2": DOCUMENT})
    second = entry(12, "state", aggregate={"az1": DOCUMENT})
    assert repeated(store, first, second) == {"az1": DOCUMENT, "az2": DOCUMENT}


def test_other_namespaces_and_entries_are_not_noted(store: MemoryStore) -> None:
    service = {"version": 1, "enabled": True, "disabled_reason": None}
    entries = [
        entry(11, "state", rack={"h1": {"watts": 1}}),
        entry(12, "service", h1=service, h2=None),
        entry(13, "alive", h1=True),
    ]
    writes = OperatorWrites()
    for noted in entries:
        writes.note(noted)
    store.follow = pytest.fail  # type: ignore[method-assign, assignment]
    writes.repeat_forgotten(store)


def test_number_of_names_is_bounded(store: MemoryStore) -> None:
    entries = [entry(10 + number, "state", aggregate={f"az{number}": DOCUMENT}) for number in range(MAX_WRITES + 2)]
    names = repeated(store, *entries)
    assert len(names) == MAX_WRITES and not {"az0", "az1"} & names.keys()


def test_nothing_is_repeated_after_a_load(store: MemoryStore) -> None:
    writes = OperatorWrites()
    writes.note(entry(11, "state", aggregate={"az1": DOCUMENT}))
    writes.clear()
    writes.repeat_forgotten(store)
    assert store.list_state("aggregate")[0] == []


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
