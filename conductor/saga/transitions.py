# SPDX-License-Identifier: Apache-2.0
"""State transitions of an instance, as pure functions of its record."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from conductor.saga import evacuations
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi.resources.statuses import InstanceStatus, MigrationKind, MigrationStatus

# Statuses of an instance that is off, or is being stopped.
STOPPED = frozenset({InstanceStatus.SHUTOFF, InstanceStatus.STOPPING})


def set_step(instance: InstanceRecord, step: SagaStep, **changes: Any) -> InstanceRecord:
    """Set the next step, due at once unless ``wake_ms`` is given."""
    return replace(instance, step=step, **{"wake_ms": 0, "tries": 0, "since_ms": 0, "refused_ms": 0, **changes})


def set_numbered_step(instance: InstanceRecord, step: SagaStep, **changes: Any) -> InstanceRecord:
    """Set the next step with a new message number; hosts ignore lower numbers from then on."""
    return set_step(instance, step, last_attempt=instance.next_attempt, **changes)


def finish(instance: InstanceRecord, status: InstanceStatus, **changes: Any) -> InstanceRecord:
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
    """Apply ``act`` once the record has waited ``window_ms``; finish in ``status`` if that is None."""
    if window_ms is None:
        return finish(instance, status)
    since_ms = instance.since_ms or now_ms
    if since_ms + window_ms <= now_ms:
        return act(instance)
    return replace(instance, since_ms=since_ms, wake_ms=since_ms + window_ms)


def fail(instance: InstanceRecord, reason: str | None) -> InstanceRecord:
    """Fail an instance without a claim.

    A moving instance returns to its source, a shelved instance becomes SHELVED_OFFLOADED, any other goes to ERROR.
    """
    if instance.open_migration is not None:
        return _return_to_source(instance, reason)
    if instance.is_shelved:
        return finish(instance, InstanceStatus.SHELVED_OFFLOADED, reason=reason, host=None)
    if instance.evacuation is not None:
        instance = end_attempt(instance, evacuations.UNPLACED, reason or "")  # no effect if its host reported the end
    return finish(evacuations.return_to_source(instance), InstanceStatus.ERROR, reason=reason)


def lose(instance: InstanceRecord, reason: str) -> InstanceRecord:
    """Continue after the instance lost its claim with its host: step ABORT looks for other claims.

    A moving or shelved instance fails at once.
    """
    was_stopped = instance.was_stopped or instance.status in STOPPED
    ended = end_attempt(replace(instance, was_stopped=was_stopped, operation=0), evacuations.LOST, reason)
    if instance.open_migration is not None or instance.is_shelved:
        return fail(ended, reason)
    return set_step(ended, SagaStep.ABORT, status=InstanceStatus.ERROR, reason=reason)


def settle_claims(instance: InstanceRecord) -> InstanceRecord:
    """Set step SETTLE; ``was_stopped`` keeps the power state for a move that SETTLE may find."""
    was_stopped = instance.was_stopped or instance.status in STOPPED
    changes = {"status": building_status(instance), "was_stopped": was_stopped, "operation": 0}
    return set_step(instance, SagaStep.SETTLE, **changes)


def finish_deletion(instance: InstanceRecord) -> InstanceRecord:
    """Finish a deleted instance without a claim of its own; a move's source still ends first."""
    if instance.open_migration is not None:
        return set_step(instance, SagaStep.END_SOURCE)
    return finish(instance, InstanceStatus.DELETED, reason=None)


def _return_to_source(instance: InstanceRecord, reason: str | None) -> InstanceRecord:
    """Return a moving instance, which has no claim at a destination, to its source.

    Skips an attempt number, which may have been prepared and ended unrecorded. ``reason`` is ignored if the move is
    already reverting.
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
    """Add the end of the current attempt to the history; idempotent."""
    if instance.has_ended(instance.attempt):
        return instance
    entry = {"attempt": instance.attempt, "host": instance.host, "outcome": outcome, "reason": reason}
    return replace(instance, history=[*instance.history, entry])


def without_loss(instance: InstanceRecord, attempt: int) -> list[Mapping[str, Any]]:
    """Return the history without a recorded loss of ``attempt``, which its live claim disproves."""
    return [entry for entry in instance.history if (entry["attempt"], entry["outcome"]) != (attempt, evacuations.LOST)]


def as_sentence(reason: str) -> str:
    return f"{reason[0].upper()}{reason[1:]}"


def describe_attempts(instance: InstanceRecord) -> str:
    descriptions = [
        f"attempt {entry['attempt']} on {entry['host']} {entry['outcome']}: {entry['reason']}"
        for entry in instance.history
    ]
    return "; ".join(descriptions) or "no attempt was made"
