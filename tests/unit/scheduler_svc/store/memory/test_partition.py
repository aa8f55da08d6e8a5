# SPDX-License-Identifier: Apache-2.0
"""The dictionaries of a partition: the log's length, tombstones, pins, decisions and silent services."""

from scheduler_svc.core.records import ClaimRef, LogEntry
from scheduler_svc.store.decisions import record_bytes
from scheduler_svc.store.memory.partition import MemoryPartition


def test_log_keeps_its_newest_entries() -> None:
    partition = MemoryPartition(3)
    for position in range(1, 6):
        partition.append_entry(LogEntry(position, "gone", []))
    assert [entry.position for entry in partition.entries(0, 10)] == [3, 4, 5]
    assert [entry.position for entry in partition.entries(3, 1)] == [4]


def test_oldest_tombstones_are_found_first() -> None:
    partition = MemoryPartition(10)
    for number, ended_ms in ((1, 5), (2, 10), (3, 20), (1, 30), (4, 99)):
        partition.add_tombstone(ClaimRef(f"c{number}", 1), "aborted", ended_ms)
    assert partition.old_tombstones(50, 2) == ["c2", "c3"]
    assert partition.old_tombstones(50, 9) == ["c2", "c3", "c1"]


def test_pins_are_found_from_their_expiry_on() -> None:
    partition = MemoryPartition(10)
    partition.pins = {"a": ("p1", 5), "b": ("p1", 6)}
    assert partition.expired_pins(5, 10) == ["a"]


def test_oldest_decisions_beyond_the_bound_are_dropped() -> None:
    partition = MemoryPartition(10)
    for number, request in enumerate(("r1", "r2", "r1", "r3")):
        partition.record(request, {"n": number}, 2 * record_bytes("r1", "", '{"n":0}'))
    assert partition.decision_of("r1") == {"n": 2}, "only its older decision was dropped"
    assert partition.decision_of("r2") is None
    assert [document["n"] for _number, _request, document in partition.decisions_after(0, 10)] == [2, 3]


def test_only_services_marked_alive_are_silent() -> None:
    partition = MemoryPartition(10)
    partition.beats = {"a": 5, "b": 5, "c": 6}
    partition.alive = {"a": True, "b": False, "c": True}
    assert partition.silent_services(5) == ["a"]


def test_hosts_that_were_opened_or_are_alive_are_awaited() -> None:
    partition = MemoryPartition(10)
    partition.opened = {"opened": 1}
    partition.reports = dict.fromkeys(["reporting", "down"])
    partition.alive = {"reporting": True, "down": False, "no-nodes": True}
    partition.await_hosts()
    assert {name for name in ("opened", "reporting", "down", "no-nodes") if partition.is_awaited(name)} == {
        "opened",
        "reporting",
    }
