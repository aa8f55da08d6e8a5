# SPDX-License-Identifier: Apache-2.0
"""Repeated build messages after losses, and an unavailable bus."""

import itertools
from dataclasses import replace

import oslo_messaging as messaging
import pytest

from rpcapi import errors
from tests.unit.conductor.saga.ledger import TTL_MS
from tests.unit.conductor.saga.test_boot import history
from tests.unit.conductor.saga.world import LIMITS, THREE, World, uuid_list

AWAY = [
    errors.Unavailable(what="The message bus", why="no answer in 5 s"),
    messaging.MessageDeliveryFailure("no"),
    errors.InvalidRequest(why="a message of 20 MB is larger than the bus allows"),
]


@pytest.fixture
def world() -> World:
    created = World(THREE)
    created.conductor()
    created.ledger.ttl_ms = TTL_MS
    return created


def test_lost_build_is_sent_again_without_timeout_or_new_attempt(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.hosts.behaviours["h1"] = "lost once"
    began = world.now_ms
    world.build([uuid])
    world.settle()
    assert history(world, uuid) == []
    assert world.record(uuid).attempt == 1
    assert LIMITS.recast_ms / 2 < world.now_ms - began < TTL_MS
    world.check([uuid])


def test_silent_hosts_get_one_repeated_message_with_growing_pauses(world: World) -> None:
    uuids = uuid_list(6)
    world.hosts.behaviours.update({"h1": "mute", "h2": "mute"})
    world.build(uuids)
    times = []
    while world.now_ms < 1_700_000_000_000 + LIMITS.build_timeout_ms - 1000:
        before = len(world.hosts.casts)
        world.settle(1000)
        world.now_ms += 1000
        if new := world.hosts.casts[before:]:
            times.append(world.now_ms)
            assert len({host for _, host, _ in new}) == len(new)
            assert all(len(uuids) == 2 for _, _, uuids in new)
    pauses = [after - before for before, after in itertools.pairwise(times)]
    assert 3 <= len(pauses) <= 7
    assert pauses[-1] > 2 * pauses[0]
    assert [host for _, host, _ in world.hosts.casts].count("h3") == 1

    world.hosts.send_pending_reports()
    world.settle()

    assert set(world.statuses(uuids)) == {"ACTIVE"}
    world.check(uuids)


def test_expired_claim_at_repeated_build_costs_no_timeout(world: World) -> None:
    world.limits = replace(LIMITS, recast_ms=2 * TTL_MS)
    world.conductors.clear()
    world.conductor()
    (uuid,) = uuid_list(1)
    world.hosts.behaviours["h1"] = "lost once"
    world.build([uuid])
    world.settle()
    assert history(world, uuid) == [(1, "h1/n", "refused")]
    assert world.record(uuid).host == "h2/n"
    world.check([uuid])


def test_deleted_instance_is_not_built_again(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.hosts.behaviours["h1"] = "mute"
    world.build([uuid])
    world.settle(1000)
    world.delete([uuid])
    world.settle()
    assert [kind for kind, _, _ in world.hosts.casts] == ["build", "terminate"]
    world.check([uuid])


@pytest.mark.parametrize("error", AWAY)
def test_builds_are_postponed_while_bus_is_unavailable(world: World, error: Exception) -> None:
    uuids = uuid_list(3)
    world.hosts.down = error
    world.build(uuids)
    world.work()
    # Given up after the first host: each try may take long, and the lease is short
    assert world.hosts.cast_count == 1
    for uuid in uuids:
        record = world.record(uuid)
        assert (record.step, record.tries) == ("cast", 1)
        assert record.wake_ms > world.now_ms

    world.settle(30_000)
    assert 3 <= world.hosts.cast_count <= 10
    world.hosts.down = None
    world.settle()

    assert set(world.statuses(uuids)) == {"ACTIVE"}
    world.check(uuids)


@pytest.mark.parametrize("error", AWAY)
def test_bus_outage_does_not_change_the_build_timeout(world: World, error: Exception) -> None:
    (uuid,) = uuid_list(1)
    world.hosts.behaviours["h1"] = "mute"
    began = world.now_ms
    world.build([uuid])
    world.settle(1000)
    world.hosts.down = error
    world.settle(LIMITS.build_timeout_ms - 2000)
    assert world.record(uuid).step == "wait"
    assert world.record(uuid).wake_ms <= began + LIMITS.build_timeout_ms
    world.hosts.down = None
    world.hosts.send_pending_reports()
    world.settle()
    assert world.record(uuid).attempt == 1
    world.check([uuid])


@pytest.mark.parametrize("error", AWAY)
def test_terminations_are_postponed_while_bus_is_unavailable(world: World, error: Exception) -> None:
    uuids = uuid_list(3)
    world.build(uuids)
    world.settle()
    world.hosts.cast_count, world.hosts.down = 0, error
    world.delete(uuids)
    world.work()
    assert world.hosts.cast_count == 1
    assert {world.record(uuid).step for uuid in uuids} == {"terminate"}
    world.hosts.down = None
    world.settle()
    assert set(world.statuses(uuids)) == {"DELETED"}
    world.check(uuids)
