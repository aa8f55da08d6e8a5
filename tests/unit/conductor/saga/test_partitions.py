# SPDX-License-Identifier: Apache-2.0
"""Several partitions: claims are processed in the partition that the scheduler returned."""

from dataclasses import replace

import pytest

from conductor.store.records import InstanceRecord
from rpcapi import errors
from rpcapi.clients.claims import ClaimsAPI
from rpcapi.resources.claims import PARTITION_UNAVAILABLE
from tests.unit.conductor.saga.world import World, uuid_list

(UUID,) = uuid_list(1)


@pytest.fixture
def world() -> World:
    created = World({"h1/n": 2, "h2/n": 2})
    created.conductor()
    return created


def record(world: World) -> InstanceRecord:
    return world.record(UUID)


def test_refusal_with_unavailable_partition_is_retried(world: World) -> None:
    away = {PARTITION_UNAVAILABLE: 3}
    world.scheduler.lose = [errors.NoValidHost(reason="3 partition unavailable", reasons=away) for _ in range(2)]
    world.build([UUID])
    world.settle()
    assert record(world).status == "ACTIVE"
    assert len(world.scheduler.calls) == 3


def test_live_claim_of_other_attempt_is_settled_in_its_partition(world: World) -> None:
    conflict = errors.ClaimConflict(consumer=UUID, attempt=1, why="conflict", host="h1/n", partition="cell2")
    world.scheduler.lose = [conflict]
    world.build([UUID])
    world.settle()
    assert (record(world).status, record(world).partition) == ("ACTIVE", "cell2")


def test_ended_claims_are_aborted_in_their_partition_before_next_attempt(world: World) -> None:
    partitions: list[str] = []
    saga = world.conductors[0].saga
    clients = saga._clients

    def claims(partition: str) -> ClaimsAPI:
        partitions.append(partition)
        return clients.claims(partition)

    saga._clients = replace(clients, claims=claims)
    world.scheduler.lose = [errors.ClaimEnded(consumer=UUID, attempt=1, why="ended", partition="cell2")]
    world.build([UUID])
    world.settle()
    assert partitions[0] == "cell2"
    assert (record(world).status, record(world).attempt) == ("ACTIVE", 2)
