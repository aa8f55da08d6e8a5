# SPDX-License-Identifier: Apache-2.0
"""Moves as records and messages name them."""

import pytest

from conductor.saga import moves
from conductor.store.migrations import MigrationRecord
from rpcapi.resources.statuses import MigrationKind, MigrationStatus
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
