# SPDX-License-Identifier: Apache-2.0
"""Liveness decided by a service group."""

from typing import Any

import pytest

from tests.unit.scheduler_svc.store.world import SHORT_MS, World


@pytest.fixture
def world(make_world: Any) -> World:
    """A new partition with liveness "group"."""
    return make_world(liveness="group")


def alive(world: World) -> dict[str, bool]:
    return {name: document["alive"] for name, _version, document in world.store.list_state("service")[0]}


def test_heartbeat_is_recorded_but_does_not_mark_alive(world: World) -> None:
    world.add_host("h1")
    began = world.time()
    world.store.heartbeat("m1", "gantt-conductor")
    assert alive(world) == {"gantt-conductor@m1": False, "h1": False}
    assert began <= world.store.get_state("service", "gantt-conductor@m1")[1]["last_report_ms"] <= world.time()
    assert world.store.snapshot().alive.get("h1", False) is False


def test_settle_alive_marks_exactly_the_given_services(world: World) -> None:
    for host in ("h1", "h2", "h3"):
        world.add_host(host)
    assert world.store.settle_alive(["h1", "h2", "nobody"]) == 2
    position = world.store.snapshot().position
    assert world.store.settle_alive(["h2", "h1"]) == 0
    assert world.store.snapshot().position == position
    assert world.store.settle_alive(["h2", "h3"]) == 2
    assert alive(world) == {"h1": False, "h2": True, "h3": True}
    entries = [(entry.kind, entry.payload) for entry in world.store.follow(position, 0) or ()]
    assert entries == [("alive", {"h1": False, "h3": True})]


def test_silence_does_not_mark_services_down(world: World) -> None:
    world.add_host("h1")
    world.store.settle_alive(["h1"])
    world.wait_until(world.store.get_state("service", "h1")[1]["last_report_ms"] + SHORT_MS)
    world.store.reap(dead_after_ms=None, tombstone_ms=60_000)
    assert alive(world) == {"h1": True}
