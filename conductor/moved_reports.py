# SPDX-License-Identifier: Apache-2.0
"""What reports of hosts mean for an instance that moves: of its guests at the source and at the destination."""

from conductor.report_results import ACTIVE, GONE, STOPPED, BuildResult
from conductor.saga import live_moves, moves
from conductor.saga.transitions import end_attempt, fail, set_step
from conductor.store.migrations import CLAIM_ATTEMPT, MigrationKind, MigrationRecord
from conductor.store.records import InstanceRecord, InstanceStatus, SagaStep
from rpcapi.resources import names

BUILT = (SagaStep.CAST, SagaStep.WAIT, SagaStep.ALTERNATE)


def apply_source_result(instance: InstanceRecord, result: BuildResult) -> InstanceRecord | None:
    """Return the record as a report about the migration's claim changes it, or None."""
    migration = instance.open_migration
    if migration is None or not _is_source(migration, result):
        return None
    if migration.kind == MigrationKind.LIVE:
        return live_moves.apply_source_result(instance, result)
    if result.kind not in (ACTIVE, STOPPED):
        return moves.end_source(instance, result.reason)
    if result.kind == STOPPED and instance.step == SagaStep.STOP_SOURCE:
        return moves.build_next(instance)
    return None


def ended_migration_of(instance: InstanceRecord, result: BuildResult) -> MigrationRecord | None:
    """Return the migration that a host still has a guest of, although it has ended; None if it has not, or is unknown.

    The store may have lost the record of an unknown one.
    """
    migration = instance.migration
    if migration is None or not migration.has_ended or not _is_source(migration, result):
        return None
    return migration


def is_at_destination(instance: InstanceRecord) -> bool:
    """Return whether a destination of the move may have got a build, and no report of it ended that yet."""
    return instance.status == InstanceStatus.RESIZE and instance.step in BUILT


def apply_destination_result(instance: InstanceRecord, result: BuildResult) -> InstanceRecord | None:
    """Return the record of a moving instance as a report about its own current claim changes it, or None.

    That claim is at the destination, or on the source before and after.
    """
    has_guest = result.kind in (ACTIVE, STOPPED)
    if instance.step in (SagaStep.HAND_OVER, SagaStep.RESUME):
        return _apply_on_source(instance, result) if has_guest else _lose(instance, result)
    is_live = instance.move.kind == MigrationKind.LIVE
    return (live_moves.apply_destination_result if is_live else _apply_at_destination)(instance, result)


def _apply_at_destination(instance: InstanceRecord, result: BuildResult) -> InstanceRecord | None:
    """Return the record of an instance that is built at a destination as a report of that changes it, or None."""
    has_guest = result.kind in (ACTIVE, STOPPED)
    is_built = is_at_destination(instance) or (
        instance.status == InstanceStatus.RESIZE and instance.step == SagaStep.SETTLE
    )
    if has_guest:
        is_stopped = result.kind == STOPPED
        return moves.finish_move(instance, result.reason or None, is_stopped=is_stopped) if is_built else None
    ended = end_attempt(instance, result.kind, result.reason)
    if is_built:
        return set_step(ended, SagaStep.ALTERNATE)
    if instance.step == SagaStep.TERMINATE and result.kind == GONE:
        return fail(ended, None)
    if instance.status == InstanceStatus.VERIFY_RESIZE:
        return fail(ended, f"its destination {result.host} ended it: {result.reason}")
    return None


def _lose(instance: InstanceRecord, result: BuildResult) -> InstanceRecord:
    return moves.lose_claim(instance, result.kind, f"its host ended it: {result.reason}")


def _apply_on_source(instance: InstanceRecord, result: BuildResult) -> InstanceRecord | None:
    is_resumed = instance.step == SagaStep.RESUME and instance.status != InstanceStatus.DELETING
    is_expected = result.kind == (STOPPED if instance.move.was_stopped else ACTIVE)
    return moves.finish_back(instance, result.reason or None) if is_resumed and is_expected else None


def _is_source(migration: MigrationRecord, result: BuildResult) -> bool:
    """Return whether the report is about the claim of this migration."""
    is_claim = (result.uuid, result.attempt) == (migration.uuid, CLAIM_ATTEMPT)
    return is_claim and names.host_of(migration.source_host) == result.host
