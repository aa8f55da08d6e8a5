# SPDX-License-Identifier: Apache-2.0
"""Intake of agents' build reports; each outcome is recorded before the agent gets its answer.

A report needs no lease: it is written even while a conductor advances the request, and wakes the request if a step
follows.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from oslo_log import log

from conductor import metrics, milestones
from conductor.collaborators import Conductor
from conductor.report_results import ACTIVE, ENDED_BY_REQUEST, GONE, INCOMING, OUTCOMES, STOPPED, BuildResult
from conductor.reports.moved_reports import (
    BUILT,
    apply_destination_result,
    apply_source_result,
    follows_later_move,
    is_at_destination,
    is_before_return,
    is_of_source,
)
from conductor.saga import evacuations, moves
from conductor.saga.live_moves import moves_live
from conductor.saga.transitions import (
    as_sentence,
    end_attempt,
    fail,
    finish,
    finish_deletion,
    lose,
    set_numbered_step,
    set_step,
    settle_claims,
)
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi import errors, objects
from rpcapi.clients.compute import ComputeAPI
from rpcapi.context import RequestContext
from rpcapi.objects.copy import FAILED, PHASES
from rpcapi.resources import names
from rpcapi.resources.claims import MAX_INSTANCES
from rpcapi.resources.inventory import MAX_AMOUNT
from rpcapi.resources.statuses import ON_HOST, InstanceStatus

LOG = log.getLogger(__name__)

# Steps that ask a host to change its guest, then wait for the report.
ASKING = (SagaStep.POWER, SagaStep.RESUME, SagaStep.STOP_DESTINATION)
ENDING = (SagaStep.TERMINATE, SagaStep.SETTLE)  # Steps that may end the guest of the current attempt.
MAX_TRANSITION = MAX_AMOUNT // 2  # highest transition that a host may report; leaves numbers for later messages
MAX_WRITE_ATTEMPTS = 20  # optimistic writes of a record before the call fails with Conflict


# Statuses in which the guest may have been stopped for a move that this store has lost.
RESTING = frozenset(
    {
        *(InstanceStatus.ACTIVE, InstanceStatus.SHUTOFF, InstanceStatus.ERROR),
        *(InstanceStatus.STOPPING, InstanceStatus.STARTING, InstanceStatus.SHELVING),
        *(InstanceStatus.REBOOT, InstanceStatus.HARD_REBOOT, InstanceStatus.REBUILD),
    }
)
# Statuses that change when the guest is reported as running or stopped.
RUNNING_FROM = frozenset({InstanceStatus.BUILDING, InstanceStatus.ERROR, InstanceStatus.STARTING})
STOPPED_FROM = frozenset(
    {
        *(InstanceStatus.BUILDING, InstanceStatus.ERROR, InstanceStatus.ACTIVE, InstanceStatus.STOPPING),
        InstanceStatus.SHELVING,
    }
)
# Statuses in which a running guest proves that this store lost a message.
OFF = (InstanceStatus.SHUTOFF, InstanceStatus.SHELVED)
# {kind of report: (resulting status, statuses that it changes)}
STATES: Mapping[str, tuple[InstanceStatus, Collection[InstanceStatus]]] = {
    ACTIVE: (InstanceStatus.ACTIVE, RUNNING_FROM),
    STOPPED: (InstanceStatus.SHUTOFF, STOPPED_FROM),
}


def record(conductor: Conductor, ctxt: RequestContext, report: objects.BuildReport) -> None:
    """Record a report; repeated, late or outdated results change nothing.

    Raises InvalidRequest if the report is malformed, and Conflict, Unavailable or a subclass if the agent must send it
    again.
    """
    results = _read(report)
    remaining = results
    for _ in range(MAX_WRITE_ATTEMPTS):
        records = conductor.store.get(list(dict.fromkeys(result.uuid for result in remaining)))
        _log_unknown_guests(report.host, [result for result in remaining if result.uuid not in records])
        leaked = [result for result in remaining if is_leaked(records.get(result.uuid), result)]
        _stop_leaked_guests(conductor.clients.compute, ctxt, report.host, leaked)
        remaining = _write(conductor, records, remaining)
        if not remaining:
            break
    else:
        raise errors.Conflict(
            what=f"The report on {remaining[0].uuid}", why="too many concurrent updates of its record; retry"
        )
    for result in results:
        metrics.REPORTS.labels(result.kind).inc()


def _read(report: objects.BuildReport) -> list[BuildResult]:
    names.canonical(report.host)
    if len(report.uuids) > MAX_INSTANCES:
        raise errors.InvalidRequest(
            why=f"a report may contain at most {MAX_INSTANCES} instances, got {len(report.uuids)}"
        )
    columns = ("uuids", "attempts", "outcomes", "reasons", "operations", "copies", "transitions", "migrations")
    results = [
        BuildResult(
            uuid, attempt, kind, reason, report.host, number or 0, *_copy_of(copy), transition or 0, migration or ""
        )
        for uuid, attempt, kind, reason, number, copy, transition, migration in report.rows(*columns)
    ]
    for result in results:
        if not 0 <= result.transition <= MAX_TRANSITION:
            raise errors.InvalidRequest(why=f"a transition must be a number from 0 to {MAX_TRANSITION}")
        if result.kind not in OUTCOMES:
            raise errors.InvalidRequest(why=f"unknown outcome {result.kind[:40]!r}; allowed: {', '.join(OUTCOMES)}")
    return results


def _stop_leaked_guests(compute: ComputeAPI, ctxt: RequestContext, host: str, leaked: Sequence[BuildResult]) -> None:
    if not leaked:
        return
    LOG.warning("Host %s has %d guests of deleted instances or ended moves; sending terminate", host, len(leaked))
    refs = objects.ClaimRefs.of(
        consumers=[result.uuid for result in leaked], attempts=[result.attempt for result in leaked]
    )
    compute.terminate_instances(ctxt, host, refs)


def _write(
    conductor: Conductor, records: dict[str, InstanceRecord], results: Sequence[BuildResult]
) -> list[BuildResult]:
    updates: dict[str, InstanceRecord] = {}
    deferred = []
    epoch = conductor.store.epoch()
    for result in results:
        instance = records.get(result.uuid)
        if result.uuid in updates:
            deferred.append(result)  # a second result of an instance applies after the first
        elif instance is not None and (changed := apply_result(instance, result, epoch)) is not None:
            updates[result.uuid] = changed
    stale = conductor.store.write_changes(list(updates.values()))
    if updates:
        conductor.wake()  # even without a next step: a finished build lets a new request begin
    milestones.report_changes(records.values(), updates.values(), stale)
    return deferred + [result for result in results if result.uuid in stale and result not in deferred]


def _copy_of(copy: Mapping[str, Any] | None) -> tuple[int, str]:
    if copy is None:
        return 0, ""
    number, phase = copy.get("number"), copy.get("phase")
    if type(number) is not int or phase not in PHASES:
        raise errors.InvalidRequest(why=f"a copy must have a number and a phase of {', '.join(PHASES)}")
    return number, phase


def is_leaked(instance: InstanceRecord | None, result: BuildResult) -> bool:
    """Return whether the host has a guest of a deleted instance or ended move.

    A move has certainly ended if the instance is settled elsewhere. The deletion of a moving instance ends its
    destination first. A guest without a record is not leaked: this store may have lost the record, and the host's next
    audit stops the guest if the claim ends.
    """
    if result.kind not in (ACTIVE, STOPPED) or instance is None:
        return False
    is_deleted = instance.status in (InstanceStatus.DELETING, InstanceStatus.DELETED)
    if is_of_source(instance, result):
        rests_elsewhere = instance.status in ON_HOST and instance.step == SagaStep.DONE
        return instance.open_migration is None and (is_deleted or rests_elsewhere)
    return is_deleted


def _log_unknown_guests(host: str, results: Sequence[BuildResult]) -> None:
    for result in results:
        if result.kind == ACTIVE:
            LOG.warning(
                "Host %s runs attempt %d of instance %s, which has no record; it keeps running under its claim. "
                "Record it with 'gantt server adopt'",
                *(host, result.attempt, result.uuid),
            )


def apply_result(instance: InstanceRecord, result: BuildResult, epoch: int = 0) -> InstanceRecord | None:
    """Return the record as changed by ``result``, None if unchanged; ``epoch`` is the store's."""
    if is_of_source(instance, result):
        return apply_source_result(instance, result)
    if result.attempt > instance.attempt:
        return set_step(instance, SagaStep.SETTLE) if _is_forgotten(instance, result) else None
    is_on_host = instance.host is not None and names.host_of(instance.host) == result.host
    if result.attempt < instance.attempt or not is_on_host or is_before_return(instance, result):
        return None
    return _apply_to_current(instance, result, epoch)


def _apply_to_current(instance: InstanceRecord, result: BuildResult, epoch: int) -> InstanceRecord | None:
    if _is_ended_by_mistake(instance, result) or follows_later_move(instance, result):
        return moves.settle_after_later_message(instance, result.transition)
    is_deleted_source = instance.step == SagaStep.END_SOURCE and instance.status == InstanceStatus.DELETING
    is_awaited = is_deleted_source or (instance.step == SagaStep.TERMINATE and moves_live(instance))
    if instance.has_ended(result.attempt) and not is_awaited:
        is_ended = instance.step == SagaStep.TERMINATE and result.kind in ENDED_BY_REQUEST
        return set_step(instance, SagaStep.ABORT) if is_ended else None
    if instance.step == SagaStep.SETTLE and result.kind in (ACTIVE, STOPPED):  # SETTLE reads the claims first
        return None
    if instance.status == InstanceStatus.DELETING and instance.step != SagaStep.RESUME:
        return _apply_end(instance, result, epoch) if result.kind in ENDED_BY_REQUEST else None
    apply = _apply_state if instance.open_migration is None else apply_destination_result
    has_lost_message = result.kind in (ACTIVE, STOPPED) and result.transition > instance.transition_number
    if instance.step in ASKING and has_lost_message:
        # The host ignores lower numbers. Unless it has followed the request, repeat the request with a higher number.
        instance = set_step(instance, instance.step, last_attempt=result.transition)
        return apply(instance, result) or instance
    return apply(instance, result)


def _is_ended_by_mistake(instance: InstanceRecord, result: BuildResult) -> bool:
    """Return whether the saga ends a guest that followed a later message, which this store has lost."""
    is_ending = instance.step in ENDING and instance.status != InstanceStatus.DELETING
    return is_ending and result.kind in (ACTIVE, STOPPED) and result.transition > instance.transition_number


def _apply_end(instance: InstanceRecord, result: BuildResult, epoch: int) -> InstanceRecord | None:
    """Continue a deletion after the guest has ended.

    An instance that returned to its source ends there, in step END_SOURCE. If the store may have lost attempts, step
    ABORT checks the claims.
    """
    if instance.step == SagaStep.END_SOURCE and instance.is_at_source:
        return moves.end_source(instance, result.reason)
    if instance.step != SagaStep.TERMINATE:
        return None
    is_certain = instance.certain_epoch == epoch
    return finish_deletion(instance) if is_certain else set_step(instance, SagaStep.ABORT)


def _is_forgotten(instance: InstanceRecord, result: BuildResult) -> bool:
    """Return whether the record lacks a running attempt, which the claims still have."""
    is_built = instance.status == InstanceStatus.BUILDING and instance.step != SagaStep.SETTLE
    return result.kind == ACTIVE and (is_built or is_at_destination(instance))


def _apply_state(instance: InstanceRecord, result: BuildResult) -> InstanceRecord | None:
    if instance.status == InstanceStatus.OFFLOADING and result.kind == GONE:
        return fail(end_attempt(instance, "offloaded", result.reason), None)
    if result.kind == INCOMING:
        return _end_incoming(instance)
    if result.kind not in STATES:
        return _apply_failure(instance, result)
    if result.copy_phase == FAILED:  # the reason concerns a live migration that this store has lost
        result = result._replace(reason="")
    if result.migration and instance.step == SagaStep.ABORT:  # ABORT reads the claims first
        return None
    if result.migration and _is_stopped_for_lost_move(instance):
        return settle_claims(instance)
    return _apply_operation(instance, result) if instance.operation else _apply_power(instance, result)


def _end_incoming(instance: InstanceRecord) -> InstanceRecord | None:
    """End a guest that a failed or lost migration prepared for a copy.

    The host ignores the request if it has run the guest since.
    """
    is_built = instance.status == InstanceStatus.BUILDING and instance.step in BUILT
    if not is_built and (instance.status, instance.step) != (InstanceStatus.ERROR, SagaStep.DONE):
        return None
    reason = "its live migration did not finish the copy"
    ended = end_attempt(instance, "failed", reason)
    return set_step(ended, SagaStep.TERMINATE, status=InstanceStatus.ERROR, reason=as_sentence(reason))


def _is_stopped_for_lost_move(instance: InstanceRecord) -> bool:
    """Return whether the guest was stopped for a move without a record.

    Step SETTLE starts the guest if it runs nowhere else.
    """
    is_built = instance.status == InstanceStatus.BUILDING and instance.step in BUILT
    return is_built or (instance.status in RESTING and instance.step in (SagaStep.DONE, SagaStep.POWER))


def _apply_operation(instance: InstanceRecord, result: BuildResult) -> InstanceRecord | None:
    """Finish a reboot or rebuild; None if the host has not executed it.

    A reported number above the recorded one belongs to an operation that this store lost: the request is repeated with
    a higher number.
    """
    if result.operation < instance.operation:
        return None
    if result.operation > instance.operation:
        return set_step(instance, SagaStep.POWER, operation=result.operation + 1)
    return _finish(instance, result)


def _apply_power(instance: InstanceRecord, result: BuildResult) -> InstanceRecord | None:
    """Apply the reported power state; None if the saga awaits a different state.

    The record of an idle instance follows the host, which may have followed a message that this store lost.
    """
    _status, expected = STATES[result.kind]
    if result.transition > instance.transition_number:
        instance = replace(instance, last_attempt=result.transition)
        if result.kind == ACTIVE and instance.status in OFF:
            return _finish(instance, result)
    if instance.status not in expected or instance.step == SagaStep.TERMINATE:
        return None
    if instance.status == InstanceStatus.SHELVING:
        return set_step(instance, SagaStep.OFFLOAD, status=InstanceStatus.SHELVED, is_shelved=True, reason=None)
    return _finish(instance, result)


def _finish(instance: InstanceRecord, result: BuildResult) -> InstanceRecord:
    """Finish the operation in the reported status. A running instance no longer counts as shelved.

    An instance that was powered off before its evacuation is stopped again.
    """
    status, _expected = STATES[result.kind]
    if status == InstanceStatus.ACTIVE and instance.was_stopped:
        evacuated = evacuations.end(instance, status, None)
        return set_numbered_step(evacuated, SagaStep.POWER, status=InstanceStatus.STOPPING, is_shelved=False)
    is_shelved = instance.is_shelved and status != InstanceStatus.ACTIVE
    return finish(instance, status, reason=result.reason or None, is_shelved=is_shelved)


def _apply_failure(instance: InstanceRecord, result: BuildResult) -> InstanceRecord | None:
    record = end_attempt(instance, result.kind, result.reason)
    if instance.status == InstanceStatus.BUILDING:
        return record if instance.step == SagaStep.SETTLE else set_step(record, SagaStep.ALTERNATE)
    if instance.status in ON_HOST:
        return lose(record, f"Its host {result.host} ended it: {result.reason}")
    if instance.status == InstanceStatus.ERROR:
        return fail(record, f"{instance.reason}; then its host ended it: {result.reason}")
    return None
