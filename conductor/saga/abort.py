# SPDX-License-Identifier: Apache-2.0
"""Step ABORT: end the claims of a deleted or failed instance."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from conductor.claim_answers import ClaimAnswerRow
from conductor.collaborators import CALL_ERRORS
from conductor.saga import claims, evacuations
from conductor.saga.step_context import StepContext
from conductor.saga.transitions import building_status, fail, finish_deletion, set_step, without_loss
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi.resources.claims import Answer, ClaimRole
from rpcapi.resources.statuses import InstanceStatus, MigrationKind, MigrationStatus

FAILED = (InstanceStatus.ERROR, InstanceStatus.UNSHELVING)  # statuses of an instance for which no host was selected


def abort(context: StepContext, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Abort prepared claims.

    Instances with a confirmed claim go to TERMINATE, since their host owns the claim. After a failed selection they go
    to SETTLE instead: they run under a claim that a store had lost.
    """
    changed = []
    for partition in {instance.partition for instance in instances}:
        group = [instance for instance in instances if instance.partition == partition]
        answers = claims.abort(context, group, include_next=True)
        if answers is None:
            changed += [context.retry_later(instance, "the claims service did not answer") for instance in group]
        else:
            changed += [_apply_answers(context, instance, answers) for instance in group]
    return changed


def _apply_answers(
    context: StepContext, instance: InstanceRecord, answers: Mapping[tuple[str, int], ClaimAnswerRow]
) -> InstanceRecord:
    for attempt in (instance.attempt, instance.next_attempt):
        result = answers[instance.uuid, attempt]
        answer, host, partition = result.answer, result.host, result.partition or instance.partition
        if answer == Answer.CONFLICT and _may_be_needed(context, instance):
            return set_step(instance, SagaStep.SETTLE, status=building_status(instance), partition=partition)
        if answer == Answer.CONFLICT:
            return _end_claims_left(context, instance, partition) or context.retry_later(instance, answer)
        recorded = replace(instance, history=without_loss(instance, attempt))
        may_be_needed = instance.status in FAILED and not recorded.has_ended(attempt)
        if answer == Answer.CONFIRMED and (may_be_needed or _may_have_moved(context, instance)):
            return set_step(instance, SagaStep.SETTLE, status=building_status(instance), partition=partition)
        if answer == Answer.CONFIRMED and host is not None:
            # Keep the retry count, so that a silent host gets messages at growing intervals.
            return set_step(
                instance, SagaStep.TERMINATE, attempt=attempt, host=host, partition=partition, tries=instance.tries
            )
        if answer not in claims.ENDED_ANSWERS:
            return context.retry_later(instance, answer)
    is_doubtful = instance.status in (InstanceStatus.DELETING, *FAILED) and not context.is_certain(instance)
    left = _end_claims_left(context, instance, instance.partition) if is_doubtful else None
    return left or finish_aborted(instance)


def _may_be_needed(context: StepContext, instance: InstanceRecord) -> bool:
    """Return whether an undeleted instance may run under a later attempt that this store has lost."""
    return instance.status != InstanceStatus.DELETING and not context.is_certain(instance)


def _may_have_moved(context: StepContext, instance: InstanceRecord) -> bool:
    migration = instance.open_migration
    if migration is None or not _may_be_needed(context, instance):
        return False
    return migration.kind != MigrationKind.LIVE and migration.status == MigrationStatus.PREPARING


def _end_claims_left(context: StepContext, instance: InstanceRecord, partition: str | None) -> InstanceRecord | None:
    """Return the record set to abort a live attempt that this store has lost; None without one.

    Skips the recorded move's source, which ends last.
    """
    try:
        page = context.clients.claims_of(partition).list_claims(context.new_ctxt(), consumer=instance.uuid)
    except CALL_ERRORS as error:
        return context.retry_later(instance, error)
    source_attempt = None if instance.open_migration is None else instance.open_migration.source_attempt
    claims_left = [claim for claim in page.claims if claim["attempt"] != source_attempt]
    for claim in sorted(claims_left, key=lambda claim: claim["role"] == ClaimRole.SOURCE):
        return set_step(
            instance,
            SagaStep.ABORT,
            attempt=claim["attempt"],
            last_attempt=instance.transition_number,
            host=claim["host"],
            partition=partition,
        )
    return None


def finish_aborted(instance: InstanceRecord) -> InstanceRecord:
    if instance.status == InstanceStatus.DELETING:
        return finish_deletion(instance)
    skipped = replace(instance, last_attempt=instance.next_attempt)  # abort() also aborted the next attempt
    return fail(evacuations.return_to_lost_source(skipped), instance.reason)
