# SPDX-License-Identifier: Apache-2.0
"""Evacuation of an instance: transitions of its migration record, as pure functions."""

from collections.abc import Mapping
from dataclasses import replace

from conductor.store.migrations import MigrationRecord
from conductor.store.records import BuildRequestRecord, InstanceRecord, SagaStep
from rpcapi.resources.statuses import InstanceStatus, MigrationKind, MigrationStatus

# Outcomes of attempts that ran. GONE: the host reported the end. LOST: it did not.
LOST, GONE = "lost", "gone"
UNPLACED = "unplaced"  # outcome of the last attempt if none ran
ENDS: Mapping[InstanceStatus, MigrationStatus] = {
    InstanceStatus.ERROR: MigrationStatus.ERROR,
    InstanceStatus.SHELVED_OFFLOADED: MigrationStatus.ERROR,
    InstanceStatus.DELETED: MigrationStatus.CANCELLED,
}


def has_run(instance: InstanceRecord) -> bool:
    """Return whether the last attempt ran, or was powered off, until its host was lost."""
    return any(entry["attempt"] == instance.attempt and entry["outcome"] in (LOST, GONE) for entry in instance.history)


def has_failed(instance: InstanceRecord) -> bool:
    """Return whether the last evacuation failed, or a move lost its source: no attempt runs and no claim is held."""
    if instance.migration is None or instance.migration.status != MigrationStatus.ERROR:
        return False
    return instance.has_ended(instance.attempt) and not has_run(instance)


def source_of(instance: InstanceRecord) -> str:
    """Return the node from which to evacuate an instance in ERROR; a failed evacuation does not change it."""
    former = instance.migration
    return former.source_host if former is not None and has_failed(instance) else instance.host or ""


def make_migration(
    instance: InstanceRecord, uuid: str, target: str | None, request: BuildRequestRecord, request_id: str
) -> MigrationRecord:
    """Return the migration; a repeated evacuation keeps the original source."""
    former = instance.migration if has_failed(instance) else None
    return MigrationRecord(
        uuid=uuid,
        instance=instance.uuid,
        kind=MigrationKind.EVACUATION,
        source_host=source_of(instance),
        source_partition=instance.partition if former is None else former.source_partition,
        source_attempt=instance.attempt if former is None else former.source_attempt,
        source_allocations=instance.allocations if former is None else former.source_allocations,
        target=target,
        old_flavor=instance.flavor or request.flavor,
        new_flavor=instance.flavor or request.flavor,
        was_stopped=instance.was_stopped,
        request_id=request_id,
    )


def begin(instance: InstanceRecord, migration: MigrationRecord) -> InstanceRecord:
    """Begin the evacuation of an instance in ERROR: select a host for its next attempt.

    The history is emptied, so that the instance has as many attempts as a new one. The source has no claim.
    """
    return replace(
        instance,
        step=SagaStep.EVACUATE,
        status=InstanceStatus.BUILDING,
        migration=migration,
        attempt=instance.next_attempt,
        host=None,
        history=[],
        alternates=(),
        allocations=None,
        reason=None,
        wake_ms=0,
        tries=0,
        since_ms=0,
        refused_ms=0,
    )


def set_destination(instance: InstanceRecord, host: str, attempt: int) -> InstanceRecord:
    migration = instance.evacuation
    if migration is None:
        return instance
    moving = replace(
        migration, status=MigrationStatus.MIGRATING, destination_host=host, destination_attempt=attempt, reason=None
    )
    return replace(instance, migration=moving)


def return_to_source(instance: InstanceRecord) -> InstanceRecord:
    """Record the source host again, without a claim, after a failed evacuation."""
    migration = instance.evacuation
    return instance if migration is None else replace(instance, host=migration.source_host, allocations=None)


def return_to_lost_source(instance: InstanceRecord) -> InstanceRecord:
    """Record the source host again, without a claim, after a move that lost its source.

    Only the disk may be left there.
    """
    migration = instance.migration
    if migration is None or migration.status != MigrationStatus.ERROR or instance.is_shelved or has_run(instance):
        return instance
    history = instance.history
    if not instance.has_ended(instance.attempt):
        entry = {"attempt": instance.attempt, "host": instance.host, "outcome": UNPLACED, "reason": migration.reason}
        history = [*history, entry]
    return replace(
        instance,
        host=migration.source_host,
        partition=migration.source_partition,
        allocations=None,
        was_stopped=migration.was_stopped,
        history=history,
    )


def end(instance: InstanceRecord, status: InstanceStatus, reason: str | None) -> InstanceRecord:
    migration = instance.evacuation
    if migration is None:
        return instance
    outcome = ENDS.get(status, MigrationStatus.COMPLETED)
    why = None if outcome == MigrationStatus.COMPLETED else reason
    history = [entry for entry in instance.history if entry["attempt"] > migration.source_attempt]
    return replace(instance, migration=replace(migration, status=outcome, reason=why, history=history))
