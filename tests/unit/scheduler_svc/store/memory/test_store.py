# SPDX-License-Identifier: Apache-2.0
"""The store in memory: its lock, and following its log."""

import threading

import pytest

from rpcapi import errors
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.memory import MemoryStore
from tests.support.store.backends import memory_partition
from tests.support.store.store_partition import SHORT_MS


def test_follower_is_woken_by_the_next_change() -> None:
    store = MemoryStore("p1")
    position = store.snapshot().position
    entries: list = []
    follower = threading.Thread(target=lambda: entries.extend(store.follow(position, 60_000) or ()), daemon=True)
    follower.start()
    store.heartbeat("m1", "gantt-conductor")
    follower.join(30)
    assert [entry.kind for entry in entries][:1] == ["service"]


def test_read_of_the_log_that_may_not_wait_returns_at_once() -> None:
    store = MemoryStore("p1")
    assert store.follow(store.snapshot().position, 0) == []


def test_claims_expired_by_a_verb_that_fails_are_logged() -> None:
    partition = memory_partition()
    partition.add_host("h1")
    partition.pass_deadline(partition.prepare("c1", "h1", ttl_ms=SHORT_MS))
    position = partition.store.snapshot().position
    # Given a verb that ends the expired claim, then raises
    state = partition.store.state

    def fail(_partition: object, now: int) -> None:
        state.expire(now, 10)
        raise errors.UnknownHost(name="h9")

    with pytest.raises(errors.UnknownHost):
        partition.store._run(fail)
    entries = partition.store.follow(position, 0)
    assert [(entry.kind, entry.payload) for entry in entries] == [
        ("used", {"h1": {"VCPU": 0, "MEMORY_MB": 0, "claims": 0}})
    ]


def test_snapshot_is_a_copy() -> None:
    partition = memory_partition()
    partition.add_host("h1")
    snapshot = partition.store.snapshot()
    partition.hold("c1", "h1")
    assert snapshot.used.get("h1", {}) == {}
    partition.store.release("h1", [ClaimRef("c1", 1)])
