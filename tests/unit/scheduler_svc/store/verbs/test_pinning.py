# SPDX-License-Identifier: Apache-2.0
"""Pins: the partition that serves a request or a server group."""

from tests.unit.scheduler_svc.store.store_partition import LONG_MS, SHORT_MS, StorePartition


def test_first_pin_is_recorded(partition: StorePartition) -> None:
    assert partition.store.pin("request:r1", "a", LONG_MS) == "a"
    assert partition.store.pin("request:r1", "b", LONG_MS) == "a"
    assert partition.store.pin("request:r2", "b", LONG_MS) == "b"


def test_only_the_named_partition_is_replaced(partition: StorePartition) -> None:
    partition.store.pin("k", "a", LONG_MS)
    assert partition.store.pin("k", "c", LONG_MS, instead_of="b") == "a"
    assert partition.store.pin("k", "b", LONG_MS, instead_of="a") == "b"
    # Two callers that partition a refused replace it concurrently: the second gets the first one's choice.
    assert partition.store.pin("k", "c", LONG_MS, instead_of="a") == "b"


def test_expired_pin_is_reaped(partition: StorePartition) -> None:
    partition.store.pin("k", "a", SHORT_MS)
    partition.store.pin("other", "a", LONG_MS)
    partition.wait_until(partition.time() + SHORT_MS)
    partition.store.reap(dead_after_ms=None, tombstone_ms=60_000)
    assert partition.store.pin("other", "b", LONG_MS) == "a"
    assert partition.store.pin("k", "b", LONG_MS) == "b"


def test_expired_pin_is_replaced_before_reaping(partition: StorePartition) -> None:
    partition.store.pin("k", "a", SHORT_MS)
    partition.wait_until(partition.time() + SHORT_MS)
    assert partition.store.pin("k", "b", LONG_MS) == "b"
    assert partition.store.pin("k", "c", LONG_MS) == "b"


def test_repeated_call_renews_a_pin(partition: StorePartition) -> None:
    began = partition.time()
    partition.store.pin("k", "a", SHORT_MS)
    partition.store.pin("k", "a", LONG_MS)
    partition.wait_until(began + 2 * SHORT_MS)
    assert partition.store.pin("k", "b", LONG_MS) == "a"


def test_pin_is_not_logged(partition: StorePartition) -> None:
    position = partition.store.snapshot().position
    partition.store.pin("k", "a", LONG_MS)
    assert partition.store.snapshot().position == position
