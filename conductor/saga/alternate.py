# SPDX-License-Identifier: Apache-2.0
"""Step ALTERNATE: end a failed attempt and prepare the next one on an alternate.

The next attempt starts only after the claims service reports the end of the old one. A confirmed claim belongs to its
host, even to a silent host: an instance is never built twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from oslo_log import log

from conductor.admission import has_amounts
from conductor.claim_answers import ClaimAnswerRow, results_by_claim
from conductor.collaborators import CALL_ERRORS, summarize_error
from conductor.saga import cast, claims
from conductor.saga.moves import destinations_of, revert_move
from conductor.saga.step_context import StepContext
from conductor.saga.transitions import (
    as_sentence,
    assign_host,
    describe_attempts,
    end_attempt,
    fail,
    finish,
    set_step,
)
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi import errors, objects
from rpcapi.resources import names
from rpcapi.resources.claims import Answer, GroupPolicy
from rpcapi.resources.statuses import InstanceStatus

LOG = log.getLogger(__name__)


def alternate(context: StepContext, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    def decision(instance: InstanceRecord) -> tuple[bool, bool, str, int, int]:
        able = bool(instance.alternates) and instance.builds < context.limits.max_attempts
        able &= not _may_have_returned(context, instance)
        is_certain = context.is_certain(instance)
        return able, is_certain, instance.partition or "", instance.epoch, instance.position

    changed = []
    for (able, *_), members in groupby(sorted(instances, key=decision), key=decision):
        if not able:
            changed += _give_up(context, list(members))
            continue
        for group in cast.group_by_spec(context.destination_spec, members):
            changed += _prepare(context, group)
    return changed


def _may_have_returned(context: StepContext, instance: InstanceRecord) -> bool:
    """Return whether a moving instance may be back on its source by a return that this store has lost.

    False if its destination was selected in this epoch.
    """
    return instance.open_migration is not None and instance.certain_epoch != context.epoch


def _prepare(context: StepContext, group: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Prepare the next attempt of all instances in one call, all or none.

    A refused call is repeated without the instances that no alternate accepts. An affinity group waits while a member
    must wait, or while members outside this pass may be refused and keep the group on its host.
    """
    uuids = [instance.uuid for instance in group]
    try:
        context.check_stores(group)
        answers = results_by_claim(_prepare_claims(context, group))
    except errors.InvalidRequest as error:
        return _give_up(
            context, group, dict.fromkeys(uuids, f"the request for an alternate is invalid: {summarize_error(error)}")
        )
    except CALL_ERRORS as error:
        LOG.warning("No answer about alternates for %d instances: %s", len(group), summarize_error(error))
        return [context.retry_later(instance, error) for instance in group]
    results = [(instance, answers[instance.uuid, instance.next_attempt]) for instance in group]
    if context.spec_of(group[0]).group_policy == GroupPolicy.AFFINITY:
        results = _decide_together(context, results)
    changed, possible, hopeless = [], [], []
    for instance, result in results:
        if result.answer == Answer.POSSIBLE:
            possible.append(instance)
        elif result.answer == Answer.REFUSED or (result.answer == Answer.CLOSED and not _has_time(context, instance)):
            hopeless.append(instance)
        else:
            changed.append(_apply_answer(context, instance, result))
    if hopeless:
        why = {instance.uuid: f"no alternate accepts it: {result.reason}" for instance, result in results}
        changed += _give_up(context, hopeless, why)
    if len(possible) == len(group):
        return [context.retry_later(instance, Answer.POSSIBLE) for instance in group]
    return changed + (_prepare(context, possible) if possible else [])


def _decide_together(
    context: StepContext, results: Sequence[tuple[InstanceRecord, ClaimAnswerRow]]
) -> list[tuple[InstanceRecord, ClaimAnswerRow]]:
    """Answer CLOSED for every member without a claim if the group must wait."""
    answers = {result.answer for _, result in results}
    if Answer.CLOSED not in answers and not (context.is_partial and Answer.REFUSED in answers):
        return list(results)
    waiting = (Answer.POSSIBLE, Answer.REFUSED)
    return [
        (instance, result._replace(answer=Answer.CLOSED) if result.answer in waiting else result)
        for instance, result in results
    ]


def _prepare_claims(context: StepContext, group: Sequence[InstanceRecord]) -> objects.ClaimAnswers:
    intents = objects.ClaimIntents.of(
        spec=context.destination_spec(group[0]),
        consumers=[instance.uuid for instance in group],
        attempts=[instance.next_attempt for instance in group],
        replaces=[instance.attempt for instance in group],
        candidates=[list(instance.alternates) for instance in group],
        epoch=group[0].epoch,
        position=group[0].position,
        fresh=all(context.is_certain(instance) for instance in group),
        moves=destinations_of(group),
    )
    return context.clients.claims_of(group[0].partition).prepare_claims(context.new_ctxt(), intents)


def _apply_answer(context: StepContext, instance: InstanceRecord, result: ClaimAnswerRow) -> InstanceRecord:
    if result.answer == Answer.PREPARED and result.host is not None:
        if not has_amounts(result.allocations, context.destination_spec(instance)):
            return _skip_attempt(context, instance)
        remaining = list(instance.alternates)
        if result.host in remaining:
            remaining = remaining[remaining.index(result.host) + 1 :]
        ended_record = _timed_out(context, instance)
        return assign_host(ended_record, instance.next_attempt, result.host, remaining, allocations=result.allocations)
    if result.answer == Answer.CONFIRMED:
        return handle_confirmed_claim(context, instance)
    if result.answer in (Answer.ENDED, Answer.CONFLICT):
        return set_step(instance, SagaStep.SETTLE)
    if result.answer == Answer.CLOSED:
        return replace(context.retry_later(instance, result.reason), since_ms=instance.since_ms or context.now_ms)
    return context.retry_later(instance, result.answer)


def _skip_attempt(context: StepContext, instance: InstanceRecord) -> InstanceRecord:
    """Abort the next attempt, which a forgotten resize has prepared, and skip its number."""
    number = instance.next_attempt
    answers = claims.abort(context, [replace(instance, attempt=number)])
    answer = None if answers is None else answers[instance.uuid, number].answer
    if answer in claims.ENDED_ANSWERS:
        return set_step(instance, SagaStep.ALTERNATE, last_attempt=number)
    if answer in (Answer.CONFIRMED, Answer.CONFLICT):
        return set_step(instance, SagaStep.SETTLE)
    return context.retry_later(instance, answer or "no answer from the claims service")


def _has_time(context: StepContext, instance: InstanceRecord) -> bool:
    """Return whether to wait longer for audits: without limit while an unaudited host may run the instance."""
    return (
        not context.is_certain(instance)
        or context.now_ms - (instance.since_ms or context.now_ms) < context.limits.build_timeout_ms
    )


def handle_confirmed_claim(context: StepContext, instance: InstanceRecord) -> InstanceRecord:
    """Send the build a second time; after that, end in ERROR and keep the claim.

    A moving instance returns to its source instead.
    """
    host = names.host_of(instance.host or "")
    if instance.has_ended(instance.attempt):
        # The host reported that nothing runs but still has the claim. A terminate message makes it release the claim.
        cast.send_terminate(context, host, [instance])
        return context.retry_later(instance, "its host still holds the claim of an ended attempt")
    if not instance.asked:
        return set_step(instance, SagaStep.CAST, asked=True)
    seconds = context.limits.build_timeout_ms / 1000
    reason = f"Host unreachable, claim kept: {instance.host} confirmed it but sent no report for {seconds:g} s"
    if instance.open_migration is not None:
        return revert_move(instance, reason)
    return finish(instance, InstanceStatus.ERROR, reason=reason)


def _timed_out(context: StepContext, instance: InstanceRecord) -> InstanceRecord:
    return end_attempt(instance, "timeout", f"no report within {context.limits.build_timeout_ms / 1000:g} s")


def _give_up(
    context: StepContext, group: Sequence[InstanceRecord], reasons: Mapping[str, str] | None = None
) -> list[InstanceRecord]:
    answers = claims.abort(context, group)
    if answers is None:
        return [context.retry_later(instance, "no answer from the claims service") for instance in group]
    changed = []
    for instance in group:
        result = answers[instance.uuid, instance.attempt]
        answer, partition = result.answer, result.partition or instance.partition
        if answer in claims.ENDED_ANSWERS and _may_have_returned(context, instance):
            changed.append(_give_up_move(context, instance))
        elif answer in claims.ENDED_ANSWERS:
            changed.append(_fail(context, _timed_out(context, instance), reasons[instance.uuid] if reasons else None))
        elif answer == Answer.CONFLICT or (answer == Answer.CONFIRMED and partition != instance.partition):
            changed.append(set_step(instance, SagaStep.SETTLE, partition=partition))
        elif answer == Answer.CONFIRMED:
            changed.append(handle_confirmed_claim(context, instance))
        else:
            changed.append(context.retry_later(instance, answer))
    return changed


def _give_up_move(context: StepContext, instance: InstanceRecord) -> InstanceRecord:
    """Give up a move unless a later destination is live."""
    try:
        answer = claims.find(context, instance.partition, instance.uuid, instance.next_attempt).answer
    except CALL_ERRORS as error:
        return context.retry_later(instance, error)
    if answer == Answer.CLOSED:
        return context.retry_later(instance, answer)
    if answer not in claims.ENDED_ANSWERS:
        return set_step(instance, SagaStep.SETTLE)
    return fail(_timed_out(context, instance), "The conductors' store may have lost later changes of the move")


def _fail(context: StepContext, instance: InstanceRecord, why: str | None) -> InstanceRecord:
    if why is None:
        exhausted = instance.builds >= context.limits.max_attempts
        why = f"all {context.limits.max_attempts} attempts are used" if exhausted else "no alternate is left"
    return fail(instance, f"{as_sentence(why)}; {describe_attempts(instance)}")
