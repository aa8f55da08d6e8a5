# SPDX-License-Identifier: Apache-2.0
"""State transitions of a live migration, as pure functions of the instance record.

The guest runs at its source until the source reports the guest stopped and copied. Only after this report is recorded
is the destination asked to run the guest, so that it never runs on both ends (ADR 0281).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from conductor.report_results import ACTIVE, ENDED_BY_REQUEST, INCOMING, STOPPED, BuildResult
from conductor.saga import moves
from conductor.saga.transitions import as_sentence, end_attempt, fail, finish, set_numbered_step, set_step
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi.objects.copy import ABORT, DONE, FAILED, POST_COPY, RUNNING
from rpcapi.resources.statuses import InstanceStatus, MigrationKind, MigrationStatus

ABORTED = "aborted by request"
# Steps in which a destination may have a claim while the guest still runs at its source.
PREPARING = (SagaStep.PREPARE_COPY, SagaStep.COPY)


def moves_live(instance: InstanceRecord) -> bool:
    return instance.open_migration is not None and instance.open_migration.kind == MigrationKind.LIVE


def is_aborted(instance: InstanceRecord) -> bool:
    return moves_live(instance) and instance.move.copy_request == ABORT


def give_up(instance: InstanceRecord, reason: str, *, is_final: bool = False) -> InstanceRecord:
    ended = end_attempt(instance, "failed", reason)
    migration = replace(instance.move, history=ended.history)
    if is_final or is_aborted(instance):
        migration = replace(migration, status=MigrationStatus.REVERTING, reason=reason)
    return set_step(ended, SagaStep.TERMINATE, reason=reason, migration=migration)


def select_again(instance: InstanceRecord) -> InstanceRecord:
    """Select the next destination after an ended attempt, or return to the source."""
    if instance.move.status == MigrationStatus.REVERTING or is_aborted(instance):
        return fail(instance, instance.reason or ABORTED)
    migration = replace(
        instance.move, status=MigrationStatus.PREPARING, with_disk=None, copy_request="", history=instance.history
    )
    return set_step(
        instance,
        SagaStep.DESTINATION,
        attempt=instance.next_attempt,
        host=None,
        allocations=None,
        alternates=(),
        migration=migration,
    )


def end_source(instance: InstanceRecord, reason: str) -> InstanceRecord | None:
    if instance.step == SagaStep.END_SOURCE and instance.status != InstanceStatus.DELETING:
        return _finish(instance)
    if instance.step == SagaStep.SWITCH:
        # The destination may run the guest. Memory that was not copied is lost.
        is_copied = instance.move.copy_phase == DONE
        if instance.move.is_resumed and not instance.move.copy_phase:
            return _finish(instance)  # this store lost the complete copy, after which the source ended
        return None if is_copied else lose_guest(instance, f"its memory was lost in post-copy: {reason}")
    ended = moves.end_source(instance, reason)
    is_prepared = instance.step in (*PREPARING, SagaStep.TERMINATE) and instance.status != InstanceStatus.DELETING
    return set_step(end_attempt(ended, "failed", reason), SagaStep.TERMINATE) if is_prepared else ended


def lose_guest(instance: InstanceRecord, reason: str) -> InstanceRecord:
    """Mark the guest's memory as lost; keep the source, maybe the last copy, until the destination runs."""
    return _end_when_complete(replace(instance, migration=replace(instance.move, copy_phase=FAILED, reason=reason)))


def apply_source_result(instance: InstanceRecord, result: BuildResult) -> InstanceRecord | None:
    """Apply a report of the source; None if nothing changes.

    A complete copy counts even if the source has ended, as after a fence.
    """
    is_last_copy = result.copy_number == instance.move.destination_attempt
    if instance.step == SagaStep.COPY and is_last_copy and result.copy_phase == DONE:
        return _switch(instance, DONE)
    if result.kind not in (ACTIVE, STOPPED):
        return end_source(instance, result.reason)
    is_awaited = is_last_copy and instance.status != InstanceStatus.DELETING and instance.step in _PHASES
    return _PHASES[instance.step](instance, result) if is_awaited else None


def _apply_copy(instance: InstanceRecord, result: BuildResult) -> InstanceRecord | None:
    if result.copy_phase == RUNNING and instance.move.status == MigrationStatus.PREPARING:
        return replace(instance, migration=replace(instance.move, status=MigrationStatus.MIGRATING))
    if result.copy_phase == FAILED:
        return give_up(instance, f"the copy failed: {result.reason}", is_final=result.kind == STOPPED)
    return _switch(instance, POST_COPY) if result.copy_phase == POST_COPY else None


def _apply_rest_of_copy(instance: InstanceRecord, result: BuildResult) -> InstanceRecord | None:
    if result.copy_phase == FAILED:
        return lose_guest(instance, f"its memory was lost in post-copy: {result.reason}")
    if result.copy_phase == DONE and instance.move.copy_phase != DONE:
        return _end_when_complete(replace(instance, migration=replace(instance.move, copy_phase=DONE)))
    return None


_PHASES: Mapping[SagaStep, Callable[[InstanceRecord, BuildResult], InstanceRecord | None]] = {
    SagaStep.COPY: _apply_copy,
    SagaStep.SWITCH: _apply_rest_of_copy,
}


def _switch(instance: InstanceRecord, phase: str) -> InstanceRecord:
    """Switch to the destination; the new message number overrides older requests to end the guest."""
    migration = replace(instance.move, status=MigrationStatus.MIGRATING, copy_phase=phase)
    return set_numbered_step(replace(instance, migration=migration), SagaStep.SWITCH)


def apply_destination_result(instance: InstanceRecord, result: BuildResult) -> InstanceRecord | None:
    if result.kind == ACTIVE and instance.step in PREPARING:
        # The destination runs the guest only after the end of the copy, which this store has lost.
        migration = replace(instance.move, status=MigrationStatus.MIGRATING, copy_phase="", is_resumed=True)
        return set_step(instance, SagaStep.SWITCH, migration=migration)
    if result.kind == INCOMING:
        return set_step(instance, SagaStep.COPY) if instance.step == SagaStep.PREPARE_COPY else None
    if result.kind == ACTIVE and instance.step == SagaStep.SWITCH and not instance.move.is_resumed:
        migration = replace(instance.move, is_resumed=True)
        return _end_when_complete(replace(instance, migration=migration, reason=result.reason or None))
    if result.kind in (ACTIVE, STOPPED):
        return None
    return _DESTINATION_ENDS[instance.step](instance, result) if instance.step in _DESTINATION_ENDS else None


def lose_destination(instance: InstanceRecord, outcome: str, reason: str) -> InstanceRecord:
    """Return the guest to its source after an unrequested end of its destination.

    It continues from memory only if outcome "failed" proves that the destination never ran it. Otherwise it boots,
    because its disk may be newer than its memory.
    """
    ended = end_attempt(instance, outcome, reason)
    ended = replace(ended, migration=replace(ended.move, history=ended.history))
    if instance.step in PREPARING:
        return select_again(ended)
    has_run = outcome != "failed" or instance.move.is_resumed or instance.move.copy_phase == FAILED
    if not has_run:
        return fail(ended, f"its destination failed after the copy: {reason}")
    booting = replace(ended, migration=replace(ended.move, copy_phase=""))
    return fail(booting, f"its destination ended it after the copy; it boots at its source: {reason}")


def keeps_memory(instance: InstanceRecord) -> bool:
    """Return whether a returning guest can continue from the memory at its source."""
    return moves_live(instance) and instance.move.copy_phase in (DONE, POST_COPY)


def _lose_by_report(instance: InstanceRecord, result: BuildResult) -> InstanceRecord | None:
    return None if instance.has_ended(instance.attempt) else lose_destination(instance, result.kind, result.reason)


def _end_by_request(instance: InstanceRecord, result: BuildResult) -> InstanceRecord | None:
    ended = end_attempt(instance, "failed", result.reason)
    return select_again(ended) if result.kind in ENDED_BY_REQUEST else None


_DESTINATION_ENDS: Mapping[SagaStep, Callable[[InstanceRecord, BuildResult], InstanceRecord | None]] = {
    SagaStep.PREPARE_COPY: _lose_by_report,
    SagaStep.COPY: _lose_by_report,
    SagaStep.SWITCH: _lose_by_report,
    SagaStep.TERMINATE: _end_by_request,
    SagaStep.END_SOURCE: _lose_by_report,
}


def _end_when_complete(instance: InstanceRecord) -> InstanceRecord:
    """End the source once the destination runs the guest and the copy is over."""
    is_complete = instance.move.is_resumed and instance.move.copy_phase in (DONE, FAILED)
    return set_step(instance, SagaStep.END_SOURCE) if is_complete else instance


def _finish(instance: InstanceRecord) -> InstanceRecord:
    migration = instance.move
    reason = migration.reason
    if reason is None:
        ended = replace(instance, migration=replace(migration, status=MigrationStatus.COMPLETED))
        return finish(ended, InstanceStatus.ACTIVE)
    failed = replace(instance, migration=replace(migration, status=MigrationStatus.ERROR, reason=reason))
    return finish(failed, InstanceStatus.ERROR, reason=as_sentence(reason))
