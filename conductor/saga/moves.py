# SPDX-License-Identifier: Apache-2.0
"""State transitions of a cold migration or resize, as pure functions of the instance record.

The migration holds the resources at the source and the instance those at the destination, so each final state releases
exactly one of the two.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from conductor.admission import count_amounts
from conductor.saga.step_context import load_spec
from conductor.saga.transitions import (
    as_sentence,
    building_status,
    end_attempt,
    finish,
    lose,
    set_numbered_step,
    set_step,
)
from conductor.store.migrations import MigrationRecord
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi.objects.copy import ABORT
from rpcapi.resources.claims import ClaimRole, MoveEnd
from rpcapi.resources.statuses import InstanceStatus, MigrationKind, MigrationStatus

# Steps in which the destination may have received its build message.
BUILDING_STEPS = (SagaStep.WAIT, SagaStep.SETTLE)
# Steps that end the claims of an instance, or find them, also without a move.
ENDING_STEPS = (SagaStep.TERMINATE, SagaStep.ABORT, SagaStep.SETTLE, SagaStep.WAIT)
# Steps of a return while the destination still keeps the guest.
RETURNING_STEPS = (SagaStep.STOP_SOURCE, SagaStep.STOP_DESTINATION, SagaStep.RESUME, SagaStep.TERMINATE)


def message_of(instance: InstanceRecord, role: ClaimRole) -> dict[str, Any]:
    """Return the end of the move with this role, as a message field."""
    migration = instance.move
    is_destination = role is ClaimRole.DESTINATION
    return MoveEnd(role, migration.uuid, migration.source_attempt if is_destination else None).as_dict()


def destinations_of(instances: Sequence[InstanceRecord]) -> list[dict[str, Any] | None]:
    """Return the destination end of each instance's move, None without a move; [] if no instance moves."""
    if not any(instance.open_migration for instance in instances):
        return []
    return [
        None if instance.open_migration is None else message_of(instance, ClaimRole.DESTINATION)
        for instance in instances
    ]


def begin_move(instance: InstanceRecord, migration: MigrationRecord) -> InstanceRecord:
    moving = set_step(instance, SagaStep.BEGIN_MOVE, migration=migration, is_shelved=False, reason=None)
    return replace(moving, status=building_status(moving))


def select_next(instance: InstanceRecord) -> InstanceRecord:
    """Select a destination, with an empty history: a move has as many attempts as a new instance."""
    return set_step(
        instance,
        SagaStep.DESTINATION,
        attempt=instance.next_attempt,
        host=None,
        allocations=None,
        alternates=(),
        history=[],
        asked=False,
    )


def build_next(instance: InstanceRecord) -> InstanceRecord:
    return set_step(instance, SagaStep.CAST, migration=replace(instance.move, status=MigrationStatus.MIGRATING))


def finish_move(instance: InstanceRecord, reason: str | None, *, is_stopped: bool) -> InstanceRecord:
    """Finish at the destination and wait for confirm or revert; ``reason`` describes the assignments there."""
    migration = replace(
        instance.move, status=MigrationStatus.FINISHED, history=instance.history, was_stopped=is_stopped
    )
    return set_step(instance, SagaStep.VERIFY, status=InstanceStatus.VERIFY_RESIZE, reason=reason, migration=migration)


def confirm_move(instance: InstanceRecord) -> InstanceRecord:
    migration = replace(instance.move, status=MigrationStatus.CONFIRMING, reason=None)
    return set_step(instance, SagaStep.END_SOURCE, migration=migration)


def revert_move(instance: InstanceRecord, reason: str | None = None) -> InstanceRecord:
    """Return an instance from a destination that may run its guest.

    The source first reports that it has the guest, then the destination reports the stop. The destination keeps the
    guest until the source runs. ``reason`` is None for a requested revert.
    """
    migration = replace(instance.move, status=MigrationStatus.REVERTING, reason=reason)
    status = InstanceStatus.REVERT_RESIZE if reason is None else InstanceStatus.RESIZE
    returning = replace(instance, status=status, reason=reason, migration=migration)
    return set_numbered_step(returning, SagaStep.STOP_SOURCE)


def stop_destination(instance: InstanceRecord) -> InstanceRecord:
    return set_step(instance, SagaStep.STOP_DESTINATION)


def start_source(instance: InstanceRecord) -> InstanceRecord:
    return set_numbered_step(instance, SagaStep.RESUME)


def end_destination(instance: InstanceRecord) -> InstanceRecord:
    return set_step(instance, SagaStep.TERMINATE)


def is_returning(instance: InstanceRecord) -> bool:
    """Return whether the instance returns to its source while its destination still keeps the guest."""
    migration = instance.move
    is_reverted = migration.status == MigrationStatus.REVERTING and migration.kind != MigrationKind.LIVE
    return is_reverted and instance.step in RETURNING_STEPS and not instance.is_at_source


def source_ended_during_return(instance: InstanceRecord) -> bool:
    """Return whether the source ended before the instance could return to it."""
    return instance.move.status == MigrationStatus.CONFIRMING and instance.step == SagaStep.RESUME


def end_source(instance: InstanceRecord, reason: str) -> InstanceRecord:
    """Continue after the end of the source, requested or not; ``reason`` is the host's.

    An instance at its destination stays there, even if it was returning. After a build that may have been sent, it
    continues without the source, since the destination may have the only guest. Otherwise the instance is lost.
    """
    migration = instance.move
    if instance.status == InstanceStatus.DELETING:
        return _end_source_of_deleted(instance)
    if migration.status in (MigrationStatus.FINISHED, MigrationStatus.CONFIRMING):
        return instance if source_ended_during_return(instance) else finish_confirmed(instance)
    why = f"its source {migration.source_host} ended during the move: {reason}"
    if is_returning(instance):
        staying = replace(instance, migration=replace(migration, status=MigrationStatus.CONFIRMING, reason=why))
        return set_numbered_step(staying, SagaStep.RESUME)
    return _fail_without_source(instance, why)


def _fail_without_source(instance: InstanceRecord, why: str) -> InstanceRecord:
    migration = instance.move
    failed = _end_migration(instance, MigrationStatus.ERROR, why)
    if migration.status == MigrationStatus.MIGRATING and instance.step in BUILDING_STEPS:
        return _with_new_spec(replace(failed, status=InstanceStatus.BUILDING), migration)
    if migration.status == MigrationStatus.REVERTING and instance.step in ENDING_STEPS:
        # End the destination first.
        return replace(failed, status=InstanceStatus.ERROR, reason=as_sentence(why))
    return set_step(failed, SagaStep.ABORT, status=InstanceStatus.ERROR, reason=as_sentence(why))


def lose_claim(instance: InstanceRecord, outcome: str, reason: str) -> InstanceRecord:
    """Continue after the only claim has ended.

    For a deleted instance, step ABORT also ends a destination that this store has lost.
    """
    ended = end_attempt(instance, outcome, reason)
    if instance.status == InstanceStatus.DELETING:
        return set_step(ended, SagaStep.ABORT)
    return lose(_end_migration(ended, MigrationStatus.ERROR, reason), as_sentence(reason))


def knows_move(instance: InstanceRecord, migration: str | None) -> bool:
    """Return whether the record names the migration of its claim; true for a claim outside a move."""
    if migration is None or (instance.open_migration is not None and instance.move.uuid == migration):
        return True
    last = instance.migration
    return last is not None and last.uuid == migration and last.source_attempt != instance.attempt


def settle_without_move(instance: InstanceRecord, reason: str) -> InstanceRecord:
    """Fail the migration; step SETTLE then finds the instance's claim."""
    if instance.status == InstanceStatus.DELETING:
        return set_step(_end_migration(instance, MigrationStatus.CANCELLED, reason), SagaStep.ABORT)
    ended = _end_migration(instance, MigrationStatus.ERROR, reason)
    return set_step(ended, SagaStep.SETTLE, status=InstanceStatus.BUILDING)


def settle_after_later_message(instance: InstanceRecord, number: int) -> InstanceRecord:
    """Settle the instance when its host reports a message number that this store no longer has.

    Keeps the guest.
    """
    history = [entry for entry in instance.history if entry["attempt"] != instance.attempt]
    later = replace(instance, history=history, last_attempt=number)
    if later.open_migration is None:
        return set_step(later, SagaStep.SETTLE, status=InstanceStatus.BUILDING)
    return settle_without_move(later, "its host followed a later message, which was lost")


def settle_returned(instance: InstanceRecord, reason: str) -> InstanceRecord:
    """Settle an instance after its return to the source, which this store has lost."""
    source = instance.move
    returned = replace(_at_source(instance), host=source.source_host, partition=source.source_partition)
    return settle_without_move(returned, reason)


def resume(instance: InstanceRecord) -> InstanceRecord:
    return set_step(_at_source(instance), SagaStep.RESUME)


def _at_source(instance: InstanceRecord) -> InstanceRecord:
    return replace(instance, attempt=instance.move.source_attempt, last_attempt=instance.transition_number)


def finish_back(instance: InstanceRecord, reason: str | None) -> InstanceRecord:
    """Finish a move with the instance on its source; ``reason`` describes the assignments there."""
    migration = instance.move
    status = MigrationStatus.REVERTED if migration.reason is None else MigrationStatus.ERROR
    if migration.copy_request == ABORT:
        status = MigrationStatus.CANCELLED
    return finish(
        _end_migration(instance, status, migration.reason),
        InstanceStatus.SHUTOFF if migration.was_stopped else InstanceStatus.ACTIVE,
        reason=reason,
    )


def _end_source_of_deleted(instance: InstanceRecord) -> InstanceRecord:
    """Continue a deletion after the source has ended.

    Step ABORT also ends a destination that this store has lost.
    """
    ended = _end_migration(instance, MigrationStatus.CANCELLED, "the server was deleted")
    return ended if instance.step in ENDING_STEPS else set_step(ended, SagaStep.ABORT)


def finish_confirmed(instance: InstanceRecord) -> InstanceRecord:
    """Finish a move with the instance at its destination, confirmed or unable to return."""
    migration = instance.move
    status = InstanceStatus.SHUTOFF if migration.was_stopped else InstanceStatus.ACTIVE
    outcome = MigrationStatus.CONFIRMED if migration.reason is None else MigrationStatus.ERROR
    ended = _end_migration(instance, outcome, migration.reason)
    return finish(_with_new_spec(ended, migration), status)


def _with_new_spec(instance: InstanceRecord, migration: MigrationRecord) -> InstanceRecord:
    if migration.kind != MigrationKind.RESIZE:
        return instance
    resized = replace(instance, spec=migration.spec, flavor=migration.new_flavor)
    return replace(resized, amounts=_amounts(resized))


def _amounts(instance: InstanceRecord) -> dict[str, int] | None:
    """Return the quota amounts outside a move; None means the request's amounts."""
    if instance.spec is None:
        return None
    return count_amounts(load_spec(instance.spec))


def _end_migration(instance: InstanceRecord, status: MigrationStatus, reason: str | None) -> InstanceRecord:
    migration = replace(instance.move, status=status, reason=reason)
    return replace(instance, migration=migration, amounts=_amounts(instance))
