# SPDX-License-Identifier: Apache-2.0
"""Step SETTLE: adopt the state of the claim after record and claim diverged; the claim is authoritative."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from conductor.collaborators import CALL_ERRORS
from conductor.saga import cast, claims, evacuations, moves, unknown_moves
from conductor.saga.step_context import StepContext
from conductor.saga.transitions import assign_host, end_attempt, set_numbered_step, set_step, without_loss
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi.resources import names
from rpcapi.resources.claims import Answer, ClaimRole, ClaimState
from rpcapi.resources.statuses import InstanceStatus, MigrationStatus


def settle(context: StepContext, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    return [_settle(context, instance) for instance in instances]


def _settle(context: StepContext, instance: InstanceRecord) -> InstanceRecord:
    client = context.clients.claims_of(instance.partition)
    try:
        page = client.list_claims(context.new_ctxt(), consumer=instance.uuid)
    except CALL_ERRORS as error:
        return context.retry_later(instance, error)
    by_role = {claim["role"]: claim for claim in page.claims}
    source = by_role.pop(ClaimRole.SOURCE, None)
    own = next(iter(by_role.values()), None)
    try:
        own_move = instance.open_migration and instance.open_migration.uuid
        if source is not None and source["migration"] != own_move:
            return _settle_unknown_move(context, instance, source, own)
        if own is not None:
            return _settle_at_claim(context, instance, own)
        elsewhere = claims.find_elsewhere(context, instance) if instance.open_migration is None else None
        if elsewhere is not None:
            return set_step(instance, SagaStep.SETTLE, partition=elsewhere[0])
        return _continue_without_claim(context, instance)
    except CALL_ERRORS as error:
        return context.retry_later(instance, error)


def _settle_at_claim(context: StepContext, instance: InstanceRecord, own: Mapping[str, Any]) -> InstanceRecord:
    if _is_of_other_move(instance, own):
        return _settle_destination(context, instance, own)
    if _has_ended_move(instance, own):
        return moves.settle_without_move(instance, f"its end was lost: attempt {own['attempt']} followed it")
    return _adopt_claim(context, instance, own)


def _is_of_other_move(instance: InstanceRecord, own: Mapping[str, Any]) -> bool:
    """Return whether the claim is the destination of a move that the record lacks, or has ended."""
    migration = instance.open_migration
    is_destination: bool = own["role"] == ClaimRole.DESTINATION
    if migration is None:
        return is_destination
    is_recorded = own["migration"] in (None, migration.uuid) or own["attempt"] == migration.source_attempt
    return is_destination and not is_recorded


def _has_ended_move(instance: InstanceRecord, own: Mapping[str, Any]) -> bool:
    """Return whether the claim is a later attempt outside the recorded move, such as an evacuation after it."""
    migration = instance.open_migration
    is_end = migration is not None and own["attempt"] in (migration.source_attempt, instance.attempt)
    return migration is not None and own["role"] == ClaimRole.ONLY and not is_end


def _settle_destination(context: StepContext, instance: InstanceRecord, own: Mapping[str, Any]) -> InstanceRecord:
    """Settle with the destination of an unknown or ended move, whose source has ended or is elsewhere.

    An unconfirmed destination is not adopted while another claim is live.
    """
    if instance.open_migration is not None:
        return moves.settle_without_move(
            instance, f"its end was lost: migration {own['migration']} is not the recorded one"
        )
    elsewhere = claims.find_elsewhere(context, instance)
    if elsewhere is None:
        return _adopt_claim(context, instance, own)
    partition, other = elsewhere
    at_other = replace(instance, partition=partition)
    if other["attempt"] == own["source_attempt"] and instance.evacuation is not None:
        return set_step(evacuations.end(instance, InstanceStatus.ACTIVE, None), SagaStep.SETTLE)
    if other["attempt"] == own["source_attempt"]:
        return unknown_moves.rebuild_move(context, at_other, other, own, instance.partition)
    if own["state"] == ClaimState.PREPARED:
        return set_step(at_other, SagaStep.SETTLE)
    return _adopt_claim(context, instance, own)


def _settle_unknown_move(
    context: StepContext, instance: InstanceRecord, source: Mapping[str, Any], destination: Mapping[str, Any] | None
) -> InstanceRecord:
    partition = instance.partition
    if destination is None:
        elsewhere = claims.find_elsewhere(context, instance)
        if elsewhere is not None:
            partition, destination = elsewhere
    if destination is not None and instance.evacuation is not None:
        return set_step(evacuations.end(instance, InstanceStatus.ACTIVE, None), SagaStep.SETTLE)
    if destination is not None and instance.open_migration is not None:
        return moves.settle_without_move(instance, f"its end was lost: migration {source['migration']} followed it")
    if destination is not None:
        return unknown_moves.rebuild_move(context, instance, source, destination, partition)
    return _end_move(context, instance, source, source["migration"]) or _adopt_claim(context, instance, source)


def _end_move(
    context: StepContext, instance: InstanceRecord, claim: Mapping[str, Any], migration: str
) -> InstanceRecord | None:
    answer = claims.end_move(context, instance.partition, instance.uuid, claim["attempt"], migration)
    return None if answer == Answer.CONFIRMED else context.retry_later(instance, f"its claim is {answer}")


def _adopt_claim(context: StepContext, instance: InstanceRecord, claim: Mapping[str, Any]) -> InstanceRecord:
    before = instance
    if instance.evacuation is None:
        instance = replace(instance, was_stopped=False)  # the host will report the power state
    attempt, host, migration = claim["attempt"], claim["host"], instance.open_migration
    if migration is not None and attempt == migration.source_attempt:
        if migration.status == MigrationStatus.REVERTING:
            return moves.settle_returned(instance, "its source has the only claim")
        return set_step(instance, SagaStep.BEGIN_MOVE)  # the claims service lost the move
    instance = replace(instance, history=without_loss(instance, attempt))
    if instance.has_ended(attempt):
        # The host reported that nothing runs but still has the claim. A terminate message makes it release the claim.
        cast.send_terminate(context, names.host_of(host), [replace(instance, attempt=attempt)])
        return context.retry_later(instance, f"attempt {attempt} ended, but its claim is still live")
    instance = unknown_moves.with_amounts_of(context, instance, claim)
    if attempt != instance.attempt:
        instance = end_attempt(instance, "lost", f"replaced by attempt {attempt}")
    # Send the build in any case: the host reports its current state.
    allocations = claim["allocations"]
    plain = allocations == {host: context.spec_of(instance).resources}
    allocations = None if plain else allocations
    adopted = assign_host(instance, attempt, host, claim["alternates"], allocations=allocations)
    return adopted if migration is not None else _start_again(context, before, adopted, claim)


def _start_again(
    context: StepContext, before: InstanceRecord, adopted: InstanceRecord, claim: Mapping[str, Any]
) -> InstanceRecord:
    """Start a guest that was stopped for a move, unless it was off before the move.

    First its claim must become the instance's only claim.
    """
    try:
        attempt = unknown_moves.read_attempt(context, adopted, claim)
    except CALL_ERRORS:
        return adopted
    if not attempt.migration:
        return adopted
    status = InstanceStatus.STOPPING if before.was_stopped else InstanceStatus.STARTING
    adopted = replace(adopted, last_attempt=max(adopted.last_attempt, attempt.transition))
    started = set_numbered_step(adopted, SagaStep.POWER, status=status)
    return _end_move(context, before, claim, attempt.migration) or started


def _continue_without_claim(context: StepContext, instance: InstanceRecord) -> InstanceRecord:
    """Continue with an alternate; skip an attempt number that may have been used unrecorded.

    Waits while the recorded host, or any host if the record is uncertain, may run an attempt that its partition has
    lost. Raises the errors of ``find_claims``.
    """
    if not context.is_certain(instance):
        answer = claims.find(context, instance.partition, instance.uuid, instance.next_attempt).answer
    elif instance.has_ended(instance.attempt):
        answer = Answer.ENDED
    else:
        answers = claims.abort(context, [instance])
        answer = Answer.CLOSED if answers is None else answers[instance.uuid, instance.attempt].answer
    if answer == Answer.CLOSED:
        return context.retry_later(instance, answer)
    instance = end_attempt(instance, "lost", "its claim has ended")
    following = set_step(instance, SagaStep.ALTERNATE, attempt=instance.next_attempt, host=None)
    return end_attempt(following, "lost", "its claim ended before a build was sent")
