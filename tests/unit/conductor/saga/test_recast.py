# SPDX-License-Identifier: Apache-2.0
"""Builds that were lost with an agent or a bus, and a bus that is away."""

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
    made = World(THREE)
    made.conductor()
    made.ledger.ttl_ms = TTL_MS
    return made


def test_a_build_that_was_lost_is_sent_again_and_costs_neither_the_timeout_nor_an_attempt(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.hosts.manners["h1"] = "lost once"
    began = world.now_ms
    world.build([uuid])
    world.settle()
    assert history(world, uuid) == []
    assert world.record(uuid).attempt == 1
    assert LIMITS.recast_ms / 2 < world.now_ms - began < TTL_MS
    world.check([uuid])


def test_silent_hosts_are_told_again_in_one_message_each_and_ever_more_rarely(world: World) -> None:
    uuids = uuid_list(6)
    world.hosts.manners.update({"h1": "mute", "h2": "mute"})
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

    world.hosts.speak()
    world.settle()

    assert set(world.statuses(uuids)) == {"ACTIVE"}
    world.check(uuids)


def test_a_host_whose_claim_expired_before_it_was_told_again_costs_no_timeout_either(world: World) -> None:
    world.limits = replace(LIMITS, recast_ms=2 * TTL_MS)
    world.conductors.clear()
    world.conductor()
    (uuid,) = uuid_list(1)
    world.hosts.manners["h1"] = "lost once"
    world.build([uuid])
    world.settle()
    assert history(world, uuid) == [(1, "h1/n", "refused")]
    assert world.record(uuid).host == "h2/n"
    world.check([uuid])


def test_one_that_is_deleted_while_it_is_waited_for_is_not_told_to_build_again(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.hosts.manners["h1"] = "mute"
    world.build([uuid])
    world.settle(1000)
    world.delete([uuid])
    world.settle()
    assert [kind for kind, _, _ in world.hosts.casts] == ["build", "terminate"]
    world.check([uuid])


@pytest.mark.parametrize("error", AWAY)
def test_while_the_bus_is_away_builds_are_put_off(world: World, error: Exception) -> None:
    uuids = uuid_list(3)
    world.hosts.down = error
    world.build(uuids)
    world.work()
    # Given up after the first host: each try may take long, and the lease is short
    assert world.hosts.tried == 1
    for uuid in uuids:
        record = world.record(uuid)
        assert (record.step, record.tries) == ("cast", 1)
        assert record.wake_ms > world.now_ms

    world.settle(30_000)
    assert 3 <= world.hosts.tried <= 10
    world.hosts.down = None
    world.settle()

    assert set(world.statuses(uuids)) == {"ACTIVE"}
    world.check(uuids)


@pytest.mark.parametrize("error", AWAY)
def test_a_bus_that_goes_away_while_hosts_are_waited_for_does_not_shorten_or_lengthen_the_wait(
    world: World, error: Exception
) -> None:
    (uuid,) = uuid_list(1)
    world.hosts.manners["h1"] = "mute"
    began = world.now_ms
    world.build([uuid])
    world.settle(1000)
    world.hosts.down = error
    world.settle(LIMITS.build_timeout_ms - 2000)
    assert world.record(uuid).step == "wait"
    assert world.record(uuid).wake_ms <= began + LIMITS.build_timeout_ms
    world.hosts.down = None
    world.hosts.speak()
    world.settle()
    assert world.record(uuid).attempt == 1
    world.check([uuid])


@pytest.mark.parametrize("error", AWAY)
def test_while_the_bus_is_away_terminations_are_put_off(world: World, error: Exception) -> None:
    uuids = uuid_list(3)
    world.build(uuids)
    world.settle()
    world.hosts.tried, world.hosts.down = 0, error
    world.delete(uuids)
    world.work()
    assert world.hosts.tried == 1
    assert {world.record(uuid).step for uuid in uuids} == {"terminate"}
    world.hosts.down = None
    world.settle()
    assert set(world.statuses(uuids)) == {"DELETED"}
    world.check(uuids)
