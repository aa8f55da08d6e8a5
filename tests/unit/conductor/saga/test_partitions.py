# SPDX-License-Identifier: Apache-2.0
"""Several partitions: claims are asked about where the scheduler says they are."""

from dataclasses import replace

import pytest

from conductor.store.records import InstanceRecord
from rpcapi import errors
from rpcapi.claims import ClaimsAPI
from rpcapi.model.claims import PARTITION_UNAVAILABLE
from tests.unit.conductor.saga.world import World, uuid_list

(UUID,) = uuid_list(1)


@pytest.fixture
def world() -> World:
    made = World({"h1/n": 2, "h2/n": 2})
    made.conductor()
    return made


def record(world: World) -> InstanceRecord:
    return world.record(UUID)


def test_a_refusal_while_a_partition_is_away_is_asked_again(world: World) -> None:
    away = {PARTITION_UNAVAILABLE: 3}
    world.scheduler.lose = [errors.NoValidHost(reason="3 partition unavailable", reasons=away) for _ in range(2)]
    world.build([UUID])
    world.settle()
    assert record(world).status == "ACTIVE"
    assert len(world.scheduler.calls) == 3


def test_a_claim_that_lives_under_another_attempt_is_looked_at_in_its_own_partition(world: World) -> None:
    conflict = errors.ClaimConflict(consumer=UUID, attempt=1, why="conflict", host="h1/n", partition="cell2")
    world.scheduler.lose = [conflict]
    world.build([UUID])
    world.settle()
    assert (record(world).status, record(world).partition) == ("ACTIVE", "cell2")


def test_claims_that_ended_are_ended_where_they_were_before_the_next_attempt(world: World) -> None:
    asked: list[str] = []
    saga = world.conductors[0].saga
    clients = saga._clients

    def claims(partition: str) -> ClaimsAPI:
        asked.append(partition)
        return clients.claims(partition)

    saga._clients = replace(clients, claims=claims)
    world.scheduler.lose = [errors.ClaimEnded(consumer=UUID, attempt=1, why="ended", partition="cell2")]
    world.build([UUID])
    world.settle()
    assert asked[0] == "cell2"
    assert (record(world).status, record(world).attempt) == ("ACTIVE", 2)
