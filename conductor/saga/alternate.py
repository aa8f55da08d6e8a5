# SPDX-License-Identifier: Apache-2.0
"""Step ALTERNATE: end a failed attempt and prepare the next one on an alternate.

The next attempt starts only after the claims service reports the end of the old one. A confirmed claim belongs to its
host, even to a silent host: an instance is never built twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from oslo_log import log

from conductor.claim_answers import ClaimAnswerRow, results_by_claim
from conductor.parts import NO_ANSWER_ERRORS, summarize_error
from conductor.saga import cast, claims
from conductor.saga.moves import destinations_of, revert_move
from conductor.saga.saga_pass import SagaPass
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


def alternate(saga_pass: SagaPass, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    def decision(instance: InstanceRecord) -> tuple[bool, bool, str, int, int]:
        able = bool(instance.alternates) and instance.builds < saga_pass.limits.max_attempts
        able &= not _may_have_returned(saga_pass, instance)
        is_certain = saga_pass.is_certain(instance)
        return able, is_certain, instance.partition or "", instance.epoch, instance.position

    changed = []
    for (able, *_), members in groupby(sorted(instances, key=decision), key=decision):
        if not able:
            changed += _give_up(saga_pass, list(members))
            continue
        for group in cast.group_by_spec(saga_pass.destination_spec, members):
            changed += _prepare(saga_pass, group)
    return changed


def _may_have_returned(saga_pass: SagaPass, instance: InstanceRecord) -> bool:
    """Return whether a moving instance may be back on its source by a return that this store has lost.

    False if its destination was selected in this epoch.
    """
    return instance.open_migration is not None and instance.certain_epoch != saga_pass.epoch


def _prepare(saga_pass: SagaPass, group: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Prepare the next attempt of all instances in one call, all or none.

    A refused call is repeated without the instances that no alternate accepts. An affinity group waits while a member
    must wait, or while members outside this pass may be refused and keep the group on its host.
    """
    uuids = [instance.uuid for instance in group]
    try:
        saga_pass.check_stores(group)
        answers = results_by_claim(_prepare_claims(saga_pass, group))
    except errors.InvalidRequest as error:
        return _give_up(
            saga_pass, group, dict.fromkeys(uuids, f"the request for an alternate is invalid: {summarize_error(error)}")
        )
    except (*NO_ANSWER_ERRORS, errors.GanttError) as error:
        LOG.warning("No answer about alternates for %d instances: %s", len(group), summarize_error(error))
        return [saga_pass.retry_later(instance, error) for instance in group]
    results = [(instance, answers[instance.uuid, instance.next_attempt]) for instance in group]
    if saga_pass.spec_of(group[0]).group_policy == GroupPolicy.AFFINITY:
        results = _decide_together(saga_pass, results)
    changed, possible, hopeless = [], [], []
    for instance, result in results:
        if result.answer == Answer.POSSIBLE:
            possible.append(instance)
        elif result.answer == Answer.REFUSED or (result.answer == Answer.CLOSED and not _has_time(saga_pass, instance)):
            hopeless.append(instance)
        else:
            changed.append(_apply_answer(saga_pass, instance, result))
    if hopeless:
        why = {instance.uuid: f"no alternate accepts it: {result.reason}" for instance, result in results}
        changed += _give_up(saga_pass, hopeless, why)
    if len(possible) == len(group):
        return [saga_pass.retry_later(instance, Answer.POSSIBLE) for instance in group]
    return changed + (_prepare(saga_pass, possible) if possible else [])


def _decide_together(
    saga_pass: SagaPass, results: Sequence[tuple[InstanceRecord, ClaimAnswerRow]]
) -> list[tuple[InstanceRecord, ClaimAnswerRow]]:
    """Answer CLOSED for every member without a claim if the group must wait."""
    answers = {result.answer for _, result in results}
    if Answer.CLOSED not in answers and not (saga_pass.is_partial and Answer.REFUSED in answers):
        return list(results)
    waiting = (Answer.POSSIBLE, Answer.REFUSED)
    return [
        (instance, result._replace(answer=Answer.CLOSED) if result.answer in waiting else result)
        for instance, result in results
    ]


def _prepare_claims(saga_pass: SagaPass, group: Sequence[InstanceRecord]) -> objects.ClaimAnswers:
    intents = objects.ClaimIntents.of(
        spec=saga_pass.destination_spec(group[0]),
        consumers=[instance.uuid for instance in group],
        attempts=[instance.next_attempt for instance in group],
        replaces=[instance.attempt for instance in group],
        candidates=[list(instance.alternates) for instance in group],
        epoch=group[0].epoch,
        position=group[0].position,
        fresh=all(saga_pass.is_certain(instance) for instance in group),
        moves=destinations_of(group),
    )
    return saga_pass.clients.claims_of(group[0].partition).prepare_claims(saga_pass.context(), intents)


def _apply_answer(saga_pass: SagaPass, instance: InstanceRecord, result: ClaimAnswerRow) -> InstanceRecord:
    if result.answer == Answer.PREPARED and result.host is not None:
        remaining = list(instance.alternates)
        if result.host in remaining:
            remaining = remaining[remaining.index(result.host) + 1 :]
        ended_record = _timed_out(saga_pass, instance)
        return assign_host(ended_record, instance.next_attempt, result.host, remaining, allocations=result.allocations)
    if result.answer == Answer.CONFIRMED:
        return handle_confirmed_claim(saga_pass, instance)
    if result.answer in (Answer.ENDED, Answer.CONFLICT):
        return set_step(instance, SagaStep.SETTLE)
    if result.answer == Answer.CLOSED:
        return replace(saga_pass.retry_later(instance, result.reason), since_ms=instance.since_ms or saga_pass.now_ms)
    return saga_pass.retry_later(instance, result.answer)


def _has_time(saga_pass: SagaPass, instance: InstanceRecord) -> bool:
    """Return whether to wait longer for audits: without limit while an unaudited host may run the instance."""
    return (
        not saga_pass.is_certain(instance)
        or saga_pass.now_ms - (instance.since_ms or saga_pass.now_ms) < saga_pass.limits.build_timeout_ms
    )


def handle_confirmed_claim(saga_pass: SagaPass, instance: InstanceRecord) -> InstanceRecord:
    """Send the build a second time; after that, end in ERROR and keep the claim.

    A moving instance returns to its source instead.
    """
    host = names.host_of(instance.host or "")
    if instance.has_ended(instance.attempt):
        # The host reported that nothing runs but still has the claim. A terminate message makes it release the claim.
        cast.send_terminate(saga_pass, host, [instance])
        return saga_pass.retry_later(instance, "its host still holds the claim of an ended attempt")
    if not instance.asked:
        return set_step(instance, SagaStep.CAST, asked=True)
    seconds = saga_pass.limits.build_timeout_ms / 1000
    reason = f"Host unreachable, claim kept: {instance.host} confirmed it but sent no report for {seconds:g} s"
    if instance.open_migration is not None:
        return revert_move(instance, reason)
    return finish(instance, InstanceStatus.ERROR, reason=reason)


def _timed_out(saga_pass: SagaPass, instance: InstanceRecord) -> InstanceRecord:
    return end_attempt(instance, "timeout", f"no report within {saga_pass.limits.build_timeout_ms / 1000:g} s")


def _give_up(
    saga_pass: SagaPass, group: Sequence[InstanceRecord], reasons: Mapping[str, str] | None = None
) -> list[InstanceRecord]:
    answers = claims.abort(saga_pass, group)
    if answers is None:
        return [saga_pass.retry_later(instance, "no answer from the claims service") for instance in group]
    changed = []
    for instance in group:
        result = answers[instance.uuid, instance.attempt]
        answer, partition = result.answer, result.partition or instance.partition
        if answer in claims.ENDED_ANSWERS and _may_have_returned(saga_pass, instance):
            changed.append(_give_up_move(saga_pass, instance))
        elif answer in claims.ENDED_ANSWERS:
            changed.append(
                _fail(saga_pass, _timed_out(saga_pass, instance), reasons[instance.uuid] if reasons else None)
            )
        elif answer == Answer.CONFLICT or (answer == Answer.CONFIRMED and partition != instance.partition):
            changed.append(set_step(instance, SagaStep.SETTLE, partition=partition))
        elif answer == Answer.CONFIRMED:
            changed.append(handle_confirmed_claim(saga_pass, instance))
        else:
            changed.append(saga_pass.retry_later(instance, answer))
    return changed


def _give_up_move(saga_pass: SagaPass, instance: InstanceRecord) -> InstanceRecord:
    """Give up a move unless a later destination is live."""
    try:
        answer = claims.find(saga_pass, instance.partition, instance.uuid, instance.next_attempt).answer
    except (*NO_ANSWER_ERRORS, errors.GanttError) as error:
        return saga_pass.retry_later(instance, error)
    if answer == Answer.CLOSED:
        return saga_pass.retry_later(instance, answer)
    if answer not in claims.ENDED_ANSWERS:
        return set_step(instance, SagaStep.SETTLE)
    return fail(_timed_out(saga_pass, instance), "The conductors' store may have lost later changes of the move")


def _fail(saga_pass: SagaPass, instance: InstanceRecord, why: str | None) -> InstanceRecord:
    if why is None:
        exhausted = instance.builds >= saga_pass.limits.max_attempts
        why = f"all {saga_pass.limits.max_attempts} attempts are used" if exhausted else "no alternate is left"
    return fail(instance, f"{as_sentence(why)}; {describe_attempts(instance)}")
