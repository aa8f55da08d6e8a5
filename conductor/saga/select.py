# SPDX-License-Identifier: Apache-2.0
"""Steps SELECT (one scheduler call for all instances), UNSHELVE, DESTINATION and EVACUATE (one for each)."""

from collections.abc import Sequence
from dataclasses import replace

from oslo_log import log

from conductor.admission import has_amounts
from conductor.collaborators import NO_ANSWER_ERRORS, summarize_error
from conductor.saga import claims, group_moves
from conductor.saga.live_moves import ABORTED, is_aborted, moves_live
from conductor.saga.moves import destinations_of
from conductor.saga.step_context import StepContext
from conductor.saga.transitions import assign_host, building_status, describe_attempts, set_step
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi import errors, objects
from rpcapi.resources import transient
from rpcapi.resources.claims import Answer
from rpcapi.resources.statuses import InstanceStatus

LOG = log.getLogger(__name__)

WAITING = "Waiting: "  # prefix of the reason while a selection is retried


def select(context: StepContext, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Select and claim hosts for all instances; a moving instance is selected alone.

    Idempotent: the store repeats its earlier answer, so that a claim with a lost answer is found or aborted, never
    leaked. Instances with uncertain records wait without limit while an attempt may run in a silent partition, or on a
    host that has not audited since a store lost data.
    """
    attempt = max(instance.attempt for instance in instances)
    fresh = all(context.is_certain(instance) for instance in instances)
    try:
        spec = context.destination_spec(instances[0])
        context.check_stores(instances)
        selections = context.clients.scheduler.select_destinations(
            context.new_ctxt(),
            spec,
            [instance.uuid for instance in instances],
            attempt=attempt,
            alternates=context.limits.max_attempts - 1,
            fresh=fresh,
            moves=destinations_of(instances),
        )
        _check_amounts(spec, instances, selections)
    except (*transient.ERRORS, *NO_ANSWER_ERRORS) as error:
        LOG.warning("No answer about hosts for %d instances: %s", len(instances), summarize_error(error))
        may_run = isinstance(error, (errors.ClaimClosed, errors.StoreUnavailable)) and not fresh
        wait = _wait_for_audits if may_run else _wait_or_fail
        return [wait(context, instance, error) for instance in instances]
    except errors.NoValidHost as error:
        return [_retry_or_fail(context, instance, error) for instance in instances]
    except errors.ClaimConflict as error:
        return [_settle_conflict(context, instance, error) for instance in instances]
    except errors.ClaimError as error:
        located = [replace(instance, attempt=attempt, partition=error.kwargs["partition"]) for instance in instances]
        return _start_new_attempt(context, located, error)
    except errors.GanttError as error:
        return [_fail(instance, summarize_error(error)) for instance in instances]
    return [
        assign_host(
            instance,
            selections.attempt,
            selections.host(index),
            selections.alternates_of(index),
            allocations=selections.allocations_of(index),
            partition=selections.partition,
            epoch=selections.epoch,
            position=selections.position,
            certain_epoch=context.epoch,  # the record was certain, or the store excluded other attempts
        )
        for index, instance in enumerate(instances)
    ]


def select_each(context: StepContext, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    changed: dict[str, InstanceRecord] = {}
    context = replace(context, read_group=group_moves.read_once(context.read_group))
    for instance in instances:
        if instance.uuid not in changed:
            changed |= {record.uuid: record for record in _select_alone(context, instance)}
    return list(changed.values())


def _select_alone(context: StepContext, instance: InstanceRecord) -> list[InstanceRecord]:
    if is_aborted(instance):
        return [_fail(instance, ABORTED)]
    if moves_live(instance) and len(instance.history) > context.limits.migrate_max_retries:
        return [_fail(instance, f"no destination received it; {describe_attempts(instance)}")]
    if instance.open_migration is not None and instance.move.group:
        return group_moves.select_group(context, instance, select)
    return select(context, [instance])


def _fail(instance: InstanceRecord, reason: str) -> InstanceRecord:
    # The abort leaves a tombstone, so that a select message in flight cannot create a claim.
    status = InstanceStatus.UNSHELVING if instance.is_shelved else InstanceStatus.ERROR
    if instance.open_migration is not None:
        status = building_status(instance)
    return set_step(instance, SagaStep.ABORT, status=status, reason=reason)


def _wait_for_audits(context: StepContext, instance: InstanceRecord, error: Exception) -> InstanceRecord:
    return replace(context.retry_later(instance, error), reason=f"{WAITING}{summarize_error(error)}")


def _wait_or_fail(context: StepContext, instance: InstanceRecord, error: Exception) -> InstanceRecord:
    waited_ms = _waited_ms(context, instance)
    if waited_ms < context.limits.select_timeout_ms:
        return _retry(context, instance, error)
    return _fail(instance, f"No answer from the scheduler for {waited_ms / 1000:.0f} s: {summarize_error(error)}")


def _retry_or_fail(context: StepContext, instance: InstanceRecord, error: errors.NoValidHost) -> InstanceRecord:
    """Decide again later while the refusal may pass; the final reason has the duration and the earlier refusal."""
    refused_ms = instance.refused_ms or context.now_ms
    waited_s = (context.now_ms - refused_ms) / 1000
    # Calls without an answer before the first refusal use up the timeout, but not the time of the refusal.
    unanswered_ms = refused_ms - (instance.since_ms or refused_ms)
    refusal = summarize_error(error)
    if waited_s < transient.retry_seconds(error, (context.limits.select_timeout_ms - unanswered_ms) / 1000):
        return replace(_retry(context, instance, error), refused_ms=refused_ms, reason=f"{WAITING}{refusal}")
    if not instance.refused_ms:
        return _fail(instance, refusal)
    passing = (instance.reason or "").removeprefix(WAITING)
    earlier = f", before: {passing}" if passing not in ("", refusal) else ""
    return _fail(instance, f"{refusal}; decided again for {waited_s:.0f} s{earlier}")


def _waited_ms(context: StepContext, instance: InstanceRecord) -> int:
    """Return the time since the first try of this selection, without the wait in the backlog."""
    return context.now_ms - (instance.since_ms or context.now_ms)


def _retry(context: StepContext, instance: InstanceRecord, error: Exception) -> InstanceRecord:
    return replace(context.retry_later(instance, error), since_ms=instance.since_ms or context.now_ms)


def _check_amounts(
    spec: objects.RequestSpec, instances: Sequence[InstanceRecord], selections: objects.Selections
) -> None:
    """Check that the claims are of this request: a forgotten resize may have used the attempt number.

    Raises ClaimError.
    """
    for index, instance in enumerate(instances):
        if not has_amounts(selections.allocations_of(index), spec):
            raise errors.ClaimError(
                consumer=instance.uuid,
                attempt=selections.attempt,
                partition=selections.partition,
                why="it has the amounts of another request",
            )


def _settle_conflict(context: StepContext, instance: InstanceRecord, error: errors.ClaimConflict) -> InstanceRecord:
    """Settle the instance if its own live claim has a different attempt number, otherwise retry."""
    if instance.uuid == error.kwargs.get("consumer"):
        partition = error.kwargs["partition"]
        return set_step(instance, SagaStep.SETTLE, status=building_status(instance), partition=partition)
    return _wait_or_fail(context, instance, error)


def _start_new_attempt(
    context: StepContext, instances: Sequence[InstanceRecord], error: errors.ClaimError
) -> list[InstanceRecord]:
    """Select again under a new attempt number, because the claims ended before any build message.

    Nothing can run under claims that expired, that a new epoch ended or that nobody confirmed, so the attempt does not
    count. All instances wait until every claim has ended.
    """
    LOG.info("Claims of attempt %d cannot be used, selecting again: %s", instances[0].attempt, summarize_error(error))
    answers = claims.abort(context, instances)
    if answers is None:
        return [_wait_or_fail(context, instance, error) for instance in instances]
    changed, others = [], []
    for instance in instances:
        result = answers[instance.uuid, instance.attempt]
        if result.answer in (Answer.CONFIRMED, Answer.CONFLICT):
            partition = result.partition or instance.partition
            changed.append(set_step(instance, SagaStep.SETTLE, status=building_status(instance), partition=partition))
        else:
            others.append(instance)
    if all(answers[instance.uuid, instance.attempt].answer in claims.ENDED_ANSWERS for instance in others):
        return changed + [set_step(instance, instance.step, attempt=instance.next_attempt) for instance in others]
    return changed + [_wait_or_fail(context, instance, error) for instance in others]
