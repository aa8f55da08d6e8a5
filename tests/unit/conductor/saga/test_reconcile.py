# SPDX-License-Identifier: Apache-2.0
"""Diverged records and claims: the conductor store lost its last seconds, or an answer was lost."""

from dataclasses import replace

import oslo_messaging as messaging
import pytest

from conductor.store.records import InstanceRecord, InstanceStatus, SagaStep
from scheduler_svc.core.records import ClaimRef
from tests.unit.conductor.saga.world import World, uuid_list

(UUID,) = uuid_list(1)


@pytest.fixture
def world() -> World:
    created = World({"h1/n": 4, "h2/n": 4, "h3/n": 4})
    created.conductor()
    return created


def forget(world: World, **values: object) -> None:
    """Reset a record to an earlier state, like a store that lost its last writes."""
    world.store.write_without_lease([replace(world.record(UUID), **values)], wake=True)  # type: ignore[arg-type]


def test_attempt_lost_by_the_store_is_resumed(world: World) -> None:
    world.hosts.behaviours["h1"] = "failed"
    world.build([UUID])
    world.settle()
    now = world.record(UUID)
    assert (now.attempt, now.host) == (2, "h2/n")
    forget(
        world,
        status=InstanceStatus.BUILDING,
        step=SagaStep.ALTERNATE,
        attempt=1,
        host="h1/n",
        alternates=("h2/n", "h3/n"),
    )

    world.settle()

    assert (world.record(UUID).attempt, world.record(UUID).host) == (2, "h2/n")
    world.check([UUID])


def test_lost_attempt_is_resumed_by_its_report(world: World) -> None:
    world.hosts.behaviours.update({"h1": "failed", "h2": "mute"})
    world.build([UUID])
    world.settle(1000)
    forget(world, status=InstanceStatus.BUILDING, step=SagaStep.WAIT, attempt=1, host="h1/n", history=(), wake_ms=2**50)

    world.hosts.send_pending_reports()
    world.settle()

    assert (world.record(UUID).attempt, world.record(UUID).host) == (2, "h2/n")
    assert [entry["outcome"] for entry in world.record(UUID).history] == ["lost"]
    world.check([UUID])


def test_select_lost_by_the_store_with_all_later_writes(world: World) -> None:
    world.hosts.behaviours["h1"] = "failed"
    world.build([UUID])
    world.settle()
    fresh = InstanceRecord(UUID, world.record(UUID).request, version=world.record(UUID).version)
    world.store.write_without_lease([replace(fresh, created_ms=world.now_ms)], wake=True)

    world.settle()

    assert world.record(UUID).status == "ACTIVE"
    assert world.record(UUID).host == "h2/n"
    world.check([UUID])


def test_unrecorded_ended_attempt_is_skipped(world: World) -> None:
    world.hosts.behaviours["h1"] = "failed"
    world.build([UUID])
    world.work()
    world.hosts.deliver()
    world.ledger.store.abort([ClaimRef(UUID, 2)])

    world.settle()

    record = world.record(UUID)
    assert (record.attempt, record.host, record.status) == (3, "h2/n", "ACTIVE")
    assert [entry["outcome"] for entry in record.history] == ["failed", "lost"]
    world.check([UUID])


def test_claim_of_ended_attempt_is_released(world: World) -> None:
    world.build([UUID])
    world.settle()
    ended = {"attempt": 1, "host": "h1/n", "outcome": "failed", "reason": "it said so"}
    forget(world, status=InstanceStatus.BUILDING, step=SagaStep.SETTLE, history=[ended], alternates=("h2/n",))

    world.settle()

    assert (world.record(UUID).attempt, world.record(UUID).host) == (3, "h2/n")
    world.check([UUID])


def test_host_with_claim_of_ended_attempt_gets_terminate(world: World) -> None:
    release = world.ledger.store.release
    world.ledger.store.release = lambda host, refs: []  # type: ignore[method-assign]
    world.hosts.behaviours["h1"] = "failed"
    world.build([UUID])
    world.work()
    world.hosts.deliver()
    world.ledger.store.release = release  # type: ignore[method-assign]

    world.settle()

    assert [kind for kind, host, _ in world.hosts.casts if host == "h1"] == ["build", "terminate"]
    assert (world.record(UUID).host, world.record(UUID).status) == ("h2/n", "ACTIVE")
    world.check([UUID])


def test_select_continues_with_live_claim_of_other_attempt(world: World) -> None:
    other = uuid_list(2)[1]
    world.scheduler.lose = [messaging.MessagingTimeout("no answer")]
    world.build([UUID, other])
    world.work()
    forget(world, attempt=2)

    world.settle()

    assert world.statuses([UUID, other]) == ["ACTIVE"] * 2
    assert world.record(UUID).attempt == 1
    world.check([UUID, other])
