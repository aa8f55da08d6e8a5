# SPDX-License-Identifier: Apache-2.0
"""Snapshot, log and epochs."""

import threading
from typing import Any

from scheduler_svc.core.records import ClaimRef
from tests.support.store.store_partition import ROOMY, SMALL, StorePartition, intent, node_stats, poll


def test_log_positions_are_consecutive(partition: StorePartition) -> None:
    start = partition.store.snapshot().position
    partition.add_host("h1", amounts=ROOMY)
    partition.prepare("c1", "h1")
    partition.store.confirm("h1", [ClaimRef("c1", 1)])
    partition.store.release("h1", [ClaimRef("c1", 1)])
    entries = partition.store.follow(start, 0)
    assert entries is not None
    assert [entry.position for entry in entries] == list(range(start + 1, start + len(entries) + 1))
    assert [entry.kind for entry in entries] == ["service", "alive", "service", "provider", "opened", "used", "used"]
    assert entries[-2].payload == {"h1": {**SMALL, "claims": 1}}
    assert entries[-1].payload == {"h1": {"VCPU": 0, "MEMORY_MB": 0, "claims": 0}}
    assert entries[4].payload == {"h1": partition.store.snapshot().epoch}


def test_batch_writes_a_single_log_entry(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.add_host("h2")
    start = partition.store.snapshot().position
    partition.store.prepare(partition.batch(intent("c1", "h1"), intent("c2", "h2"), intent("c3", "h1")))
    entries = partition.store.follow(start, 0)
    assert entries is not None and len(entries) == 1
    assert entries[0].payload == {"h1": {"VCPU": 2, "MEMORY_MB": 128, "claims": 2}, "h2": {**SMALL, "claims": 1}}


def test_follow_without_new_entries_is_no_gap(partition: StorePartition) -> None:
    assert partition.store.follow(partition.store.snapshot().position, 1) == []


def test_follow_with_limit_continues_after_the_last_entry(partition: StorePartition) -> None:
    start = partition.store.snapshot().position
    partition.add_host("h1")
    parts = [partition.store.follow(start + n, 0, limit=1) for n in range(2)]
    assert [[entry.position for entry in part or ()] for part in parts] == [[start + 1], [start + 2]]


def test_trimmed_log_is_a_gap(make_partition: Any) -> None:
    partition = make_partition(log_length=1)
    start = partition.store.snapshot().position
    for n in range(300):
        partition.report("h1", {"h1": node_stats({"VCPU": n + 1})})
    assert partition.store.follow(start, 0) is None
    assert partition.store.follow(partition.store.snapshot().position, 0) == []


def test_position_beyond_the_log_is_a_gap(partition: StorePartition) -> None:
    assert partition.store.follow(partition.store.snapshot().position + 5, 0) is None


def test_new_epoch_is_logged_and_skips_positions(partition: StorePartition) -> None:
    partition.add_host("h1")
    before = partition.store.snapshot().position
    epoch = partition.new_epoch()
    entries = partition.store.follow(before, 0)
    assert entries is not None
    assert [(entry.kind, entry.payload) for entry in entries] == [("epoch", epoch)]
    assert entries[0].position > before + 1000
    # A follower of forgotten entries gets a gap or the epoch entry, never an entry at its next position.
    beyond = partition.store.follow(before + 3, 0)
    assert beyond is None or beyond[0].kind == "epoch"


def test_follow_waits_for_the_next_entry(partition: StorePartition) -> None:
    start = partition.store.snapshot().position
    got: list[Any] = []
    reader = threading.Thread(target=lambda: got.append(partition.store.follow(start, 5_000)), daemon=True)
    reader.start()
    partition.store.heartbeat("m1", "gantt-conductor")
    reader.join(10)
    assert got and got[0][0].position == start + 1


def test_followed_state_equals_a_snapshot_for_any_limit(partition: StorePartition) -> None:
    for n in range(3):
        partition.add_host(f"h{n}")
    first = partition.store.snapshot()
    partition.hold("c1", "h1")
    partition.report("h2", {"h2": node_stats({"VCPU": 2}, zone="az9")})
    last = partition.store.snapshot()
    entries = partition.store.follow(first.position, 0)
    assert entries is not None and entries[-1].position == last.position
    sums, nodes = dict(first.used), dict(first.providers)
    for entry in entries:
        if entry.kind == "used":
            sums |= entry.payload
        if entry.kind == "provider":
            nodes |= entry.payload
    assert (sums, nodes) == (last.used, last.providers)


def test_unchanged_identity_keeps_the_epoch(partition: StorePartition) -> None:
    epoch, _bumped = partition.store.check_identity()
    assert partition.store.check_identity() == (epoch, False)
    assert partition.store.snapshot().epoch == epoch


def test_epoch_grows(partition: StorePartition) -> None:
    before = partition.store.snapshot().epoch
    assert partition.new_epoch() > before
    poll(lambda: partition.store.snapshot().epoch > before)
