# SPDX-License-Identifier: Apache-2.0
"""Record and claim have parted: the conductors' store lost its last seconds, or a conductor its answer."""

from dataclasses import replace

import oslo_messaging as messaging
import pytest

from conductor.store.records import InstanceRecord, InstanceStatus, SagaStep
from scheduler_svc.store.records import ClaimRef
from tests.unit.conductor.saga.world import World, uuid_list

(UUID,) = uuid_list(1)


@pytest.fixture
def world() -> World:
    made = World({"h1/n": 4, "h2/n": 4, "h3/n": 4})
    made.conductor()
    return made


def forget(world: World, **values: object) -> None:
    """Put the record back to what it was: what a store does that lost its last writes."""
    world.store.write_without_lease([replace(world.record(UUID), **values)], wake=True)  # type: ignore[arg-type]


def test_an_attempt_that_the_store_forgot_is_taken_up_again(world: World) -> None:
    world.hosts.manners["h1"] = "failed"
    world.build([UUID])
    world.settle()
    now = world.record(UUID)
    assert (now.attempt, now.host) == (2, "h2/n")
    forget(world, status=InstanceStatus.BUILDING, step=SagaStep.ALTERNATE, attempt=1, host="h1/n", alternates=("h2/n", "h3/n"))

    world.settle()

    assert (world.record(UUID).attempt, world.record(UUID).host) == (2, "h2/n")
    world.check([UUID])


def test_a_forgotten_attempt_that_reports_is_taken_up_again(world: World) -> None:
    world.hosts.manners.update({"h1": "failed", "h2": "mute"})
    world.build([UUID])
    world.settle(1000)
    forget(world, status=InstanceStatus.BUILDING, step=SagaStep.WAIT, attempt=1, host="h1/n", history=(), wake_ms=2**50)

    world.hosts.speak()
    world.settle()

    assert (world.record(UUID).attempt, world.record(UUID).host) == (2, "h2/n")
    assert [entry["outcome"] for entry in world.record(UUID).history] == ["lost"]
    world.check([UUID])


def test_a_select_that_was_forgotten_with_all_after_it(world: World) -> None:
    world.hosts.manners["h1"] = "failed"
    world.build([UUID])
    world.settle()
    fresh = InstanceRecord(UUID, world.record(UUID).request, version=world.record(UUID).version)
    world.store.write_without_lease([replace(fresh, created_ms=world.now_ms)], wake=True)

    world.settle()

    assert world.record(UUID).status == "ACTIVE"
    assert world.record(UUID).host == "h2/n"
    world.check([UUID])


def test_a_prepared_attempt_that_ended_unrecorded_is_stepped_over(world: World) -> None:
    world.hosts.manners["h1"] = "failed"
    world.build([UUID])
    world.work()
    world.hosts.deliver()
    world.ledger.store.abort([ClaimRef(UUID, 2)])

    world.settle()

    record = world.record(UUID)
    assert (record.attempt, record.host, record.status) == (3, "h2/n", "ACTIVE")
    assert [entry["outcome"] for entry in record.history] == ["failed", "lost"]
    world.check([UUID])


def test_a_claim_of_an_attempt_that_its_host_ended_is_released(world: World) -> None:
    world.build([UUID])
    world.settle()
    ended = {"attempt": 1, "host": "h1/n", "outcome": "failed", "reason": "it said so"}
    forget(world, status=InstanceStatus.BUILDING, step=SagaStep.SETTLE, history=[ended], alternates=("h2/n",))

    world.settle()

    assert (world.record(UUID).attempt, world.record(UUID).host) == (3, "h2/n")
    world.check([UUID])


def test_a_host_that_reports_an_end_but_holds_the_claim_is_told_to_release_it(world: World) -> None:
    release = world.ledger.store.release
    world.ledger.store.release = lambda host, refs: []  # type: ignore[method-assign]
    world.hosts.manners["h1"] = "failed"
    world.build([UUID])
    world.work()
    world.hosts.deliver()
    world.ledger.store.release = release  # type: ignore[method-assign]

    world.settle()

    assert [kind for kind, host, _ in world.hosts.casts if host == "h1"] == ["build", "terminate"]
    assert (world.record(UUID).host, world.record(UUID).status) == ("h2/n", "ACTIVE")
    world.check([UUID])


def test_a_select_that_finds_another_attempt_alive_goes_on_from_that(world: World) -> None:
    other = uuid_list(2)[1]
    world.scheduler.lose = [messaging.MessagingTimeout("no answer")]
    world.build([UUID, other])
    world.work()
    forget(world, attempt=2)

    world.settle()

    assert world.statuses([UUID, other]) == ["ACTIVE"] * 2
    assert world.record(UUID).attempt == 1
    world.check([UUID, other])
