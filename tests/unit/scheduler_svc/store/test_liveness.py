# SPDX-License-Identifier: Apache-2.0
"""Who lives where a service group tells it."""

from typing import Any

import pytest

from tests.unit.scheduler_svc.store.world import SHORT_MS, World


@pytest.fixture
def world(make_world: Any) -> World:
    """A fresh partition whose liveness is a service group's affair."""
    return make_world(liveness="group")


def alive(world: World) -> dict[str, bool]:
    return {name: document["alive"] for name, _version, document in world.store.list_state("service")[0]}


def test_a_sign_of_life_is_recorded_and_raises_nobody(world: World) -> None:
    world.add_host("h1")
    began = world.time()
    world.store.heartbeat("m1", "gantt-conductor")
    assert alive(world) == {"gantt-conductor@m1": False, "h1": False}
    assert began <= world.store.get_state("service", "gantt-conductor@m1")[1]["last_report_ms"] <= world.time()
    assert world.store.snapshot().alive.get("h1", False) is False


def test_exactly_those_named_live(world: World) -> None:
    for host in ("h1", "h2", "h3"):
        world.add_host(host)
    assert world.store.settle_alive(["h1", "h2", "nobody"]) == 2
    position = world.store.snapshot().position
    assert world.store.settle_alive(["h2", "h1"]) == 0
    assert world.store.snapshot().position == position
    assert world.store.settle_alive(["h2", "h3"]) == 2
    assert alive(world) == {"h1": False, "h2": True, "h3": True}
    told = [(one.kind, one.payload) for one in world.store.follow(position, 0) or ()]
    assert told == [("alive", {"h1": False, "h3": True})]


def test_silence_kills_nobody(world: World) -> None:
    world.add_host("h1")
    world.store.settle_alive(["h1"])
    world.wait_until(world.store.get_state("service", "h1")[1]["last_report_ms"] + SHORT_MS)
    world.store.reap(dead_after_ms=None, tombstone_ms=60_000)
    assert alive(world) == {"h1": True}
