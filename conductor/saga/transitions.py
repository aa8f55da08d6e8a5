# SPDX-License-Identifier: Apache-2.0
"""State transitions of an instance, as pure functions of its record."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from conductor.saga import evacuations
from conductor.store.migrations import MigrationKind, MigrationStatus
from conductor.store.records import InstanceRecord, InstanceStatus, SagaStep

# The statuses of an instance that is to be off.
STOPPED = frozenset({InstanceStatus.SHUTOFF, InstanceStatus.STOPPING})


def set_step(instance: InstanceRecord, step: SagaStep, **changes: Any) -> InstanceRecord:
    """Return the record with its next step, due at once unless ``wake_ms`` is given."""
    return replace(instance, step=step, **{"wake_ms": 0, "tries": 0, "since_ms": 0, **changes})


def set_numbered_step(instance: InstanceRecord, step: SagaStep, **changes: Any) -> InstanceRecord:
    """Return the record with a step, and a new number for its messages: hosts ignore lower ones afterwards."""
    return set_step(instance, step, last_attempt=instance.next_attempt, **changes)


def finish(instance: InstanceRecord, status: InstanceStatus, **changes: Any) -> InstanceRecord:
    """Return the record in ``status`` without a next step; an evacuation that is under way ends with that."""
    ended = evacuations.end(instance, status, changes.get("reason"))
    was_stopped = instance.was_stopped and status == InstanceStatus.ERROR
    return set_step(ended, SagaStep.DONE, status=status, operation=0, was_stopped=was_stopped, target=None, **changes)


def act_after(
    instance: InstanceRecord,
    window_ms: int | None,
    now_ms: int,
    act: Callable[[InstanceRecord], InstanceRecord],
    status: InstanceStatus,
) -> InstanceRecord:
    """Return what ``act`` makes of the record once it has waited ``window_ms``; None: it rests in ``status``."""
    if window_ms is None:
        return finish(instance, status)
    since_ms = instance.since_ms or now_ms
    if since_ms + window_ms <= now_ms:
        return act(instance)
    return replace(instance, since_ms=since_ms, wake_ms=since_ms + window_ms)


def fail(instance: InstanceRecord, reason: str | None) -> InstanceRecord:
    """Return the record of an instance without a claim of its own.

    An instance that moves returns to its source. Otherwise the status is final: SHELVED_OFFLOADED if the image is
    stored, else ERROR.
    """
    if instance.open_migration is not None:
        return _return_to_source(instance, reason)
    if instance.is_shelved:
        return finish(instance, InstanceStatus.SHELVED_OFFLOADED, reason=reason, host=None)
    if instance.evacuation is not None:
        instance = end_attempt(instance, evacuations.UNPLACED, reason or "")  # unless its host reported the end
    return finish(evacuations.return_to_source(instance), InstanceStatus.ERROR, reason=reason)


def lose(instance: InstanceRecord, reason: str) -> InstanceRecord:
    """Return the record of an instance whose host no longer has its claim.

    One that runs nowhere else rests in ERROR after step ABORT, which looks for a claim that this store has forgotten.
    """
    was_stopped = instance.was_stopped or instance.status in STOPPED
    ended = end_attempt(replace(instance, was_stopped=was_stopped, operation=0), evacuations.LOST, reason)
    if instance.open_migration is not None or instance.is_shelved:
        return fail(ended, reason)
    return set_step(ended, SagaStep.ABORT, status=InstanceStatus.ERROR, reason=reason)


def settle_claims(instance: InstanceRecord) -> InstanceRecord:
    """Return the record with the step that follows its claims; a move that is found returns the guest as it was."""
    was_stopped = instance.was_stopped or instance.status in STOPPED
    changes = {"status": building_status(instance), "was_stopped": was_stopped, "operation": 0}
    return set_step(instance, SagaStep.SETTLE, **changes)


def finish_deletion(instance: InstanceRecord) -> InstanceRecord:
    """Return the record of a deleted instance without a claim of its own; the source of a move must still end."""
    if instance.open_migration is not None:
        return set_step(instance, SagaStep.END_SOURCE)
    return finish(instance, InstanceStatus.DELETED, reason=None)


def _return_to_source(instance: InstanceRecord, reason: str | None) -> InstanceRecord:
    """Return the record of a moving instance without a claim at a destination, which returns to its source.

    The record skips an attempt number: a conductor may have prepared and ended the next attempt without recording it.
    ``reason`` says why the move failed. It is ignored if the move is being reverted already.
    """
    migration = instance.move
    if migration.status != MigrationStatus.REVERTING:
        migration = replace(migration, status=MigrationStatus.REVERTING, reason=reason or "it failed")
    status = InstanceStatus.REVERT_RESIZE if migration.reason is None else building_status(instance)
    return set_step(
        instance,
        SagaStep.END_MOVE,
        status=instance.status if instance.status == InstanceStatus.DELETING else status,
        attempt=instance.next_attempt + 1,
        host=migration.source_host,
        allocations=migration.source_allocations,
        partition=migration.source_partition,
        alternates=(),
        asked=False,
        reason=None,
        migration=replace(migration, history=instance.history),
    )


def building_status(instance: InstanceRecord) -> InstanceStatus:
    """Return the status of an instance that is built on a host: as a new one, or at the destination of a move."""
    migration = instance.open_migration
    if migration is None:
        return InstanceStatus.BUILDING
    return InstanceStatus.MIGRATING if migration.kind == MigrationKind.LIVE else InstanceStatus.RESIZE


def assign_host(
    instance: InstanceRecord,
    attempt: int,
    host: str,
    alternates: Sequence[str],
    *,
    allocations: Mapping[str, Mapping[str, int]] | None,
    **changes: Any,
) -> InstanceRecord:
    """Return the record with a claim on ``host`` and CAST as the next step.

    The source of a move is stopped first, or copied where it moves live.
    """
    step, migration = SagaStep.CAST, instance.open_migration
    if migration is not None:
        step = SagaStep.STOP_SOURCE if migration.status == MigrationStatus.PREPARING else SagaStep.CAST
        if migration.kind == MigrationKind.LIVE:
            step = SagaStep.PREPARE_COPY
        changes["migration"] = replace(migration, destination_host=host, destination_attempt=attempt)
    return set_step(
        evacuations.set_destination(instance, host, attempt),
        step,
        status=building_status(instance),
        attempt=attempt,
        host=host,
        allocations=allocations,
        alternates=tuple(alternates),
        asked=False,
        reason=None,
        **changes,
    )


def end_attempt(instance: InstanceRecord, outcome: str, reason: str) -> InstanceRecord:
    """Return the record with the end of the current attempt in its history; idempotent."""
    if instance.has_ended(instance.attempt):
        return instance
    entry = {"attempt": instance.attempt, "host": instance.host, "outcome": outcome, "reason": reason}
    return replace(instance, history=[*instance.history, entry])


def without_loss(instance: InstanceRecord, attempt: int) -> list[Mapping[str, Any]]:
    """Return the history without the end of an attempt that no host reported: its claim shows that it may run."""
    return [entry for entry in instance.history if (entry["attempt"], entry["outcome"]) != (attempt, evacuations.LOST)]


def as_sentence(reason: str) -> str:
    """Return a reason with a capital letter, as records have it."""
    return f"{reason[0].upper()}{reason[1:]}"


def describe_attempts(instance: InstanceRecord) -> str:
    """Return a text with the outcome and reason of each ended attempt."""
    descriptions = [
        f"attempt {entry['attempt']} on {entry['host']} {entry['outcome']}: {entry['reason']}"
        for entry in instance.history
    ]
    return "; ".join(descriptions) or "no attempt was made"
