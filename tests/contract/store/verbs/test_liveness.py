# SPDX-License-Identifier: Apache-2.0
"""Liveness decided by a service group."""

from typing import Any

import pytest

from tests.support.store.store_partition import SHORT_MS, StorePartition


@pytest.fixture
def partition(make_partition: Any) -> StorePartition:
    """A new partition with liveness "group"."""
    return make_partition(liveness="group")


def alive(partition: StorePartition) -> dict[str, bool]:
    return {name: document["alive"] for name, _version, document in partition.store.list_state("service")[0]}


def test_heartbeat_is_recorded_but_does_not_mark_alive(partition: StorePartition) -> None:
    partition.add_host("h1")
    began = partition.time()
    partition.store.heartbeat("m1", "gantt-conductor")
    assert alive(partition) == {"gantt-conductor@m1": False, "h1": False}
    assert began <= partition.store.get_state("service", "gantt-conductor@m1")[1]["last_report_ms"] <= partition.time()
    assert partition.store.snapshot().alive.get("h1", False) is False


def test_settle_alive_marks_exactly_the_given_services(partition: StorePartition) -> None:
    for host in ("h1", "h2", "h3"):
        partition.add_host(host)
    assert partition.store.settle_alive(["h1", "h2", "nobody"]) == 2
    position = partition.store.snapshot().position
    assert partition.store.settle_alive(["h2", "h1"]) == 0
    assert partition.store.snapshot().position == position
    assert partition.store.settle_alive(["h2", "h3"]) == 2
    assert alive(partition) == {"h1": False, "h2": True, "h3": True}
    entries = [(entry.kind, entry.payload) for entry in partition.store.follow(position, 0) or ()]
    assert entries == [("alive", {"h1": False, "h3": True})]


def test_silence_does_not_mark_services_down(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.store.settle_alive(["h1"])
    partition.wait_until(partition.store.get_state("service", "h1")[1]["last_report_ms"] + SHORT_MS)
    partition.store.reap(dead_after_ms=None, tombstone_ms=60_000)
    assert alive(partition) == {"h1": True}
