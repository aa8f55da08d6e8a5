# SPDX-License-Identifier: Apache-2.0
"""Which partition serves a request or a group."""

from tests.unit.scheduler_svc.store.world import LONG_MS, SHORT_MS, World


def test_the_first_that_asks_is_recorded(world: World) -> None:
    assert world.store.pin("request:r1", "a", LONG_MS) == "a"
    assert world.store.pin("request:r1", "b", LONG_MS) == "a"
    assert world.store.pin("request:r2", "b", LONG_MS) == "b"


def test_only_the_one_that_is_named_is_replaced(world: World) -> None:
    world.store.pin("k", "a", LONG_MS)
    assert world.store.pin("k", "c", LONG_MS, instead_of="b") == "a"
    assert world.store.pin("k", "b", LONG_MS, instead_of="a") == "b"
    # Two that were refused by a ask at once: the second follows the first.
    assert world.store.pin("k", "c", LONG_MS, instead_of="a") == "b"


def test_a_pin_ends_and_is_tidied(world: World) -> None:
    world.store.pin("k", "a", SHORT_MS)
    world.store.pin("other", "a", LONG_MS)
    world.wait_until(world.time() + SHORT_MS)
    world.store.reap(dead_after_ms=None, tombstone_ms=60_000)
    assert world.store.pin("other", "b", LONG_MS) == "a"
    assert world.store.pin("k", "b", LONG_MS) == "b"


def test_a_pin_that_ended_is_replaced_before_anybody_tidies(world: World) -> None:
    world.store.pin("k", "a", SHORT_MS)
    world.wait_until(world.time() + SHORT_MS)
    assert world.store.pin("k", "b", LONG_MS) == "b"
    assert world.store.pin("k", "c", LONG_MS) == "b"


def test_asking_again_keeps_a_pin(world: World) -> None:
    began = world.time()
    world.store.pin("k", "a", SHORT_MS)
    world.store.pin("k", "a", LONG_MS)
    world.wait_until(began + 2 * SHORT_MS)
    assert world.store.pin("k", "b", LONG_MS) == "a"


def test_a_pin_is_no_change_of_hosts(world: World) -> None:
    position = world.store.snapshot().position
    world.store.pin("k", "a", LONG_MS)
    assert world.store.snapshot().position == position
