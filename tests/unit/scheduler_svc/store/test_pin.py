# SPDX-License-Identifier: Apache-2.0
"""Pins: the partition that serves a request or a server group."""

from tests.unit.scheduler_svc.store.world import LONG_MS, SHORT_MS, World


def test_first_pin_is_recorded(world: World) -> None:
    assert world.store.pin("request:r1", "a", LONG_MS) == "a"
    assert world.store.pin("request:r1", "b", LONG_MS) == "a"
    assert world.store.pin("request:r2", "b", LONG_MS) == "b"


def test_only_the_named_partition_is_replaced(world: World) -> None:
    world.store.pin("k", "a", LONG_MS)
    assert world.store.pin("k", "c", LONG_MS, instead_of="b") == "a"
    assert world.store.pin("k", "b", LONG_MS, instead_of="a") == "b"
    # Two callers that partition a refused replace it concurrently: the second gets the first one's choice.
    assert world.store.pin("k", "c", LONG_MS, instead_of="a") == "b"


def test_expired_pin_is_reaped(world: World) -> None:
    world.store.pin("k", "a", SHORT_MS)
    world.store.pin("other", "a", LONG_MS)
    world.wait_until(world.time() + SHORT_MS)
    world.store.reap(dead_after_ms=None, tombstone_ms=60_000)
    assert world.store.pin("other", "b", LONG_MS) == "a"
    assert world.store.pin("k", "b", LONG_MS) == "b"


def test_expired_pin_is_replaced_before_reaping(world: World) -> None:
    world.store.pin("k", "a", SHORT_MS)
    world.wait_until(world.time() + SHORT_MS)
    assert world.store.pin("k", "b", LONG_MS) == "b"
    assert world.store.pin("k", "c", LONG_MS) == "b"


def test_repeated_call_renews_a_pin(world: World) -> None:
    began = world.time()
    world.store.pin("k", "a", SHORT_MS)
    world.store.pin("k", "a", LONG_MS)
    world.wait_until(began + 2 * SHORT_MS)
    assert world.store.pin("k", "b", LONG_MS) == "a"


def test_pin_is_not_logged(world: World) -> None:
    position = world.store.snapshot().position
    world.store.pin("k", "a", LONG_MS)
    assert world.store.snapshot().position == position
