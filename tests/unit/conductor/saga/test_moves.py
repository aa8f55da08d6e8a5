# SPDX-License-Identifier: Apache-2.0
"""Moves as records and messages name them."""

import pytest

from conductor.saga import moves
from conductor.store.migrations import MigrationRecord
from conductor.store.records import SagaStep
from rpcapi.resources.statuses import InstanceStatus, MigrationKind, MigrationStatus
from tests.support.conductor.step_contexts import instance


@pytest.mark.parametrize(
    ("migration", "attempt", "status", "is_known"),
    [
        (None, 1, MigrationStatus.CONFIRMED, True),
        ("m1", 1, MigrationStatus.MIGRATING, True),
        ("m2", 2, MigrationStatus.MIGRATING, False),
        ("m1", 2, MigrationStatus.CONFIRMED, True),
        ("m1", 1, MigrationStatus.REVERTED, False),
        ("m2", 2, MigrationStatus.CONFIRMED, False),
    ],
)
def test_record_knows_the_move_of_its_claim(
    migration: str | None, attempt: int, status: MigrationStatus, is_known: bool
) -> None:
    last = MigrationRecord(uuid="m1", instance="a", kind=MigrationKind.MIGRATION, status=status, source_attempt=1)
    assert moves.knows_move(instance(attempt=attempt, migration=last), migration) is is_known


def test_instances_that_do_not_move_have_no_destinations() -> None:
    assert moves.destinations_of([instance("a"), instance("b")]) == []


@pytest.mark.parametrize("step", SagaStep)
@pytest.mark.parametrize("instance_status", [InstanceStatus.MIGRATING, InstanceStatus.DELETING])
def test_no_step_of_an_ended_move_is_left(step: SagaStep, instance_status: InstanceStatus) -> None:
    last = MigrationRecord("m1", "a", MigrationKind.LIVE, MigrationStatus.REVERTING, "h1/n", source_attempt=1)
    moving = instance(attempt=2, host="h2/n", migration=last, step=step, status=instance_status)
    ended = moves.end_source(moving, "it was fenced")
    assert ended.open_migration is None
    assert ended.step in {SagaStep.TERMINATE, SagaStep.ABORT, SagaStep.SETTLE, SagaStep.WAIT}
