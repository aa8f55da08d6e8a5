# SPDX-License-Identifier: Apache-2.0
"""Evacuation of an instance: transitions of its migration record, as pure functions."""

from collections.abc import Mapping
from dataclasses import replace

from conductor.store.migrations import MigrationKind, MigrationRecord, MigrationStatus
from conductor.store.records import BuildRequestRecord, InstanceRecord, InstanceStatus, SagaStep

# Outcomes of attempts that ran. LOST: the host never reported the end. GONE: it did.
LOST, GONE = "lost", "gone"
UNPLACED = "unplaced"  # outcome of the last attempt if none ran
ENDS: Mapping[InstanceStatus, MigrationStatus] = {
    InstanceStatus.ERROR: MigrationStatus.ERROR,
    InstanceStatus.SHELVED_OFFLOADED: MigrationStatus.ERROR,
    InstanceStatus.DELETED: MigrationStatus.CANCELLED,
}


def has_run(instance: InstanceRecord) -> bool:
    """Return whether the last attempt ran, or was powered off, until its host lost it."""
    return any(entry["attempt"] == instance.attempt and entry["outcome"] in (LOST, GONE) for entry in instance.history)


def has_failed(instance: InstanceRecord) -> bool:
    """Return whether the last evacuation failed, or a move lost its source: no attempt runs and no claim is held."""
    if instance.migration is None or instance.migration.status != MigrationStatus.ERROR:
        return False
    return instance.has_ended(instance.attempt) and not has_run(instance)


def source_of(instance: InstanceRecord) -> str:
    """Return the resource name that an instance in ERROR is evacuated from; unchanged by a failed evacuation."""
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
    """Begin the evacuation of an instance in ERROR.

    Select a host for its next attempt, with an empty history, so that it has as many attempts as a new instance. The
    source has no claim.
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
    """Put an instance whose evacuation failed back on the source host, without a claim."""
    migration = instance.evacuation
    return instance if migration is None else replace(instance, host=migration.source_host, allocations=None)


def return_to_lost_source(instance: InstanceRecord) -> InstanceRecord:
    """Put an instance whose move lost its source back there, without a claim: only its disk may be there."""
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
