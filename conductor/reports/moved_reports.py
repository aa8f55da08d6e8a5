# SPDX-License-Identifier: Apache-2.0
"""Reports about moving instances: from guests at the source and at the destination."""

from dataclasses import replace

from conductor.report_results import ACTIVE, ENDED_BY_REQUEST, INCOMING, STOPPED, BuildResult
from conductor.saga import live_moves, moves
from conductor.saga.transitions import end_attempt, fail, set_step
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi.resources import names
from rpcapi.resources.statuses import InstanceStatus, MigrationKind, MigrationStatus

REQUESTING = (SagaStep.STOP_SOURCE, SagaStep.COPY)  # steps that wait for the source to follow a message
BUILT = (SagaStep.CAST, SagaStep.WAIT, SagaStep.ALTERNATE)


def apply_source_result(instance: InstanceRecord, result: BuildResult) -> InstanceRecord | None:
    migration = instance.open_migration
    if migration is None or result.kind == INCOMING:  # late: the guest has run since
        return None
    if follows_later_move(instance, result):
        # Settle in the partition of the source, which has one end of the later move.
        reason = "its source had followed a later move, whose record was lost"
        return moves.settle_returned(replace(instance, last_attempt=result.transition), reason)
    follows_lost = result.kind in (ACTIVE, STOPPED) and result.transition > instance.transition_number
    if follows_lost and instance.step in (*REQUESTING, SagaStep.END_SOURCE):
        is_ending = instance.step == SagaStep.END_SOURCE
        return _end_later_source(instance, result) if is_ending else _follow_lost_moves(instance, result.transition)
    if migration.kind == MigrationKind.LIVE:
        return live_moves.apply_source_result(instance, result)
    if result.kind not in (ACTIVE, STOPPED):
        return moves.end_source(instance, result.reason)
    # A report older than the request may be about an earlier stop, after which the guest was started again.
    return None if result.transition < instance.transition_number else _follow_source(instance, result)


def _follow_source(instance: InstanceRecord, result: BuildResult) -> InstanceRecord | None:
    if instance.step == SagaStep.STOP_SOURCE and result.kind == STOPPED:
        is_reverted = instance.move.status == MigrationStatus.REVERTING
        return moves.stop_destination(instance) if is_reverted else moves.build_next(instance)
    return moves.end_destination(instance) if _is_resumed(instance, result) else None


def _follow_lost_moves(instance: InstanceRecord, number: int) -> InstanceRecord:
    """Give the move up and return to the source, which has followed a later move that this store lost."""
    reason = "its source had followed a later move, whose record was lost: repeat the move"
    record = replace(instance, last_attempt=number)
    if record.move.kind == MigrationKind.LIVE:
        return live_moves.give_up(record, reason, is_final=True)
    return moves.revert_move(record, reason)


def _end_later_source(instance: InstanceRecord, result: BuildResult) -> InstanceRecord:
    """Continue END_SOURCE after the source followed a later message that this store lost.

    If the source runs, the instance had returned: then only a deletion ends the source, and the partition of the source
    has the claim that counts.
    """
    record = replace(instance, last_attempt=result.transition)
    may_have_returned = result.kind == ACTIVE or (instance.move.was_stopped and not result.migration)
    if may_have_returned and instance.status != InstanceStatus.DELETING:
        return moves.settle_returned(record, "its source runs again, as was requested before the record was lost")
    return set_step(record, SagaStep.END_SOURCE)


def expects_stopped(instance: InstanceRecord, attempt: int) -> bool:
    """Return whether the move stops this attempt's guest.

    Always at the source; at the destination only while the move is confirmed or reverted.
    """
    migration = instance.open_migration
    if migration is None:
        return False
    is_leaving = migration.status in (MigrationStatus.REVERTING, MigrationStatus.CONFIRMING)
    return attempt == migration.source_attempt or is_leaving


def is_of_source(instance: InstanceRecord, result: BuildResult) -> bool:
    """Return whether the report is about the last move's source while the instance is elsewhere."""
    migration = instance.migration
    if migration is None or migration.kind == MigrationKind.EVACUATION:
        return False
    is_attempt = result.attempt == migration.source_attempt != instance.attempt
    return is_attempt and names.host_of(migration.source_host) == result.host


def follows_later_move(instance: InstanceRecord, result: BuildResult) -> bool:
    """Return whether the host stopped the guest for a later move, which this store has lost.

    False in a deletion, which ends every claim, the recorded move's source last.
    """
    recorded = instance.open_migration
    if recorded is None or instance.status == InstanceStatus.DELETING or result.migration in ("", recorded.uuid):
        return False
    return result.kind == STOPPED and result.transition >= instance.transition_number


def is_before_return(instance: InstanceRecord, result: BuildResult) -> bool:
    """Return whether a report predates the last step of the return to the source.

    False for a build sent again after record and claims diverged, and for a guest stopped for a lost move, whose host
    may not know of the return. Operations are numbered separately.
    """
    if result.migration and instance.open_migration is None:
        return False
    is_built = instance.status == InstanceStatus.BUILDING or is_at_destination(instance)
    has_returned = instance.attempt < instance.last_attempt and not is_built and not instance.operation
    return has_returned and result.kind in (ACTIVE, STOPPED) and result.transition < instance.transition_number


def is_at_destination(instance: InstanceRecord) -> bool:
    """Return whether a destination may have received a build and has not reported its end."""
    return instance.status == InstanceStatus.RESIZE and instance.step in BUILT


def apply_destination_result(instance: InstanceRecord, result: BuildResult) -> InstanceRecord | None:
    """Apply a report about the current claim of a moving instance, at either end; None if nothing changes."""
    has_guest = result.kind in (ACTIVE, STOPPED)
    is_live = instance.move.kind == MigrationKind.LIVE
    if result.kind == INCOMING and (instance.is_at_source or not is_live):  # late: the guest has run since
        return None
    if instance.is_at_source or moves.source_ended_during_return(instance):
        return _apply_only(instance, result) if has_guest else _lose(instance, result)
    return (live_moves.apply_destination_result if is_live else _apply_at_destination)(instance, result)


def _apply_at_destination(instance: InstanceRecord, result: BuildResult) -> InstanceRecord | None:
    if result.kind in (ACTIVE, STOPPED):
        return _apply_guest_at_destination(instance, result)
    ended = end_attempt(instance, result.kind, result.reason)
    if is_at_destination(instance):
        return set_step(ended, SagaStep.ALTERNATE)
    if moves.is_returning(instance) or (instance.step == SagaStep.TERMINATE and result.kind in ENDED_BY_REQUEST):
        return fail(ended, None)
    if instance.status == InstanceStatus.VERIFY_RESIZE:
        return fail(ended, f"its destination {result.host} ended it: {result.reason}")
    return None


def _apply_guest_at_destination(instance: InstanceRecord, result: BuildResult) -> InstanceRecord | None:
    is_stopped = result.kind == STOPPED
    if instance.step == SagaStep.STOP_DESTINATION and is_stopped:
        return moves.start_source(instance)
    is_built = is_at_destination(instance)
    if result.migration and (is_built or not expects_stopped(instance, result.attempt)):  # this store lost the return
        reason = None if instance.status == InstanceStatus.VERIFY_RESIZE else "its record was lost while it returned"
        return moves.revert_move(replace(instance, last_attempt=max(instance.last_attempt, result.transition)), reason)
    if not is_built:
        return None
    return moves.finish_move(instance, result.reason or None, is_stopped=is_stopped)


def _lose(instance: InstanceRecord, result: BuildResult) -> InstanceRecord:
    return moves.lose_claim(instance, result.kind, f"its host ended it: {result.reason}")


def _apply_only(instance: InstanceRecord, result: BuildResult) -> InstanceRecord | None:
    if not _is_resumed(instance, result):
        return None
    if moves.source_ended_during_return(instance):
        return moves.finish_confirmed(replace(instance, reason=result.reason or None))
    return moves.finish_back(instance, result.reason or None)


def _is_resumed(instance: InstanceRecord, result: BuildResult) -> bool:
    is_requested = instance.step == SagaStep.RESUME and instance.status != InstanceStatus.DELETING
    return is_requested and result.kind == (STOPPED if instance.move.was_stopped else ACTIVE)
