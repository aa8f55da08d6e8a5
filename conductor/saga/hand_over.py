# SPDX-License-Identifier: Apache-2.0
"""Steps HAND_OVER and MOVE_BACK: the claim on the source of a move becomes its migration's, or the instance's again.

The identity that gets the claim is recorded before the call, so that a repeated call means the same one.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

from conductor.saga import moves
from conductor.saga.claims import ENDED_ANSWERS
from conductor.saga.evacuations import LOST
from conductor.saga.saga_pass import SagaPass
from conductor.saga.transitions import move_back as move_back_again
from conductor.saga.transitions import set_step
from conductor.service_clients import NO_ANSWER_ERRORS
from conductor.store.migrations import CLAIM_ATTEMPT, MigrationStatus
from conductor.store.records import InstanceRecord, InstanceStatus, SagaStep
from rpcapi import errors, objects
from rpcapi.resources.claims import INSTANCE, MIGRATION, Answer

Identity = tuple[str, int]


class MoveAnswer(NamedTuple):
    """An answer of move_claims; ``identity`` is the claim that it is about."""

    identity: Identity
    answer: str


def hand_over(saga_pass: SagaPass, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Make the claims on the sources those of the migrations; then select destinations, or return without one."""
    return _move(saga_pass, instances, MIGRATION, lambda instance: (_own(instance), _source(instance)), _handed_over)


def move_back(saga_pass: SagaPass, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Make the claims on the sources those of the instances again, under new attempts."""
    return _move(
        saga_pass,
        instances,
        INSTANCE,
        lambda instance: (_source(instance), (instance.uuid, instance.attempt)),
        _moved_back,
    )


def _own(instance: InstanceRecord) -> Identity:
    return instance.uuid, instance.move.source_attempt


def _source(instance: InstanceRecord) -> Identity:
    return instance.move.uuid, CLAIM_ATTEMPT


def _move(
    saga_pass: SagaPass,
    instances: Sequence[InstanceRecord],
    consumer_type: str,
    pair_of: Callable[[InstanceRecord], tuple[Identity, Identity]],
    apply: Callable[[SagaPass, InstanceRecord, MoveAnswer], InstanceRecord],
) -> list[InstanceRecord]:
    def partition_of(instance: InstanceRecord) -> str:
        return instance.move.source_partition or saga_pass.clients.partition

    changed = []
    for partition, members in groupby(sorted(instances, key=partition_of), key=partition_of):
        group = list(members)
        pairs = [pair_of(instance) for instance in group]
        try:
            saga_pass.check_stores(group)
            answers = saga_pass.clients.claims_of(partition).move_claims(
                saga_pass.context(),
                _refs([former for former, _next in pairs]),
                _refs([successor for _former, successor in pairs]),
                consumer_type,
            )
        except (*NO_ANSWER_ERRORS, errors.GanttError) as error:
            changed += [saga_pass.retry_later(instance, error) for instance in group]
            continue
        rows = zip(group, answers.consumers, answers.attempts, answers.answers, strict=True)
        changed += [
            apply(saga_pass, instance, MoveAnswer((consumer, attempt), answer))
            for instance, consumer, attempt, answer in rows
        ]
    return changed


def _refs(identities: Sequence[Identity]) -> objects.ClaimRefs:
    return objects.ClaimRefs.of(
        consumers=[consumer for consumer, _ in identities], attempts=[attempt for _, attempt in identities]
    )


def _handed_over(saga_pass: SagaPass, instance: InstanceRecord, result: MoveAnswer) -> InstanceRecord:
    if result.answer == Answer.CONFIRMED:
        if instance.status == InstanceStatus.DELETING:
            return set_step(instance, SagaStep.END_SOURCE)
        is_returning = instance.move.status == MigrationStatus.REVERTING
        return set_step(instance, SagaStep.MOVE_BACK) if is_returning else moves.select_next(instance)
    if result.answer == Answer.CLOSED:
        return saga_pass.retry_later(instance, result.answer)
    if result.identity == _own(instance) and result.answer in ENDED_ANSWERS and result.answer != Answer.UNKNOWN:
        return moves.lose_claim(instance, LOST, f"its claim was {result.answer}")
    # This migration never gets the claim. Whether the instance still has it, only its claims show.
    return moves.settle_without_move(instance, f"its claim could not be handed over: {result.answer}")


def _moved_back(saga_pass: SagaPass, instance: InstanceRecord, result: MoveAnswer) -> InstanceRecord:
    if result.answer == Answer.CONFIRMED:
        return set_step(instance, SagaStep.RESUME)
    if result.answer == Answer.CLOSED:
        return saga_pass.retry_later(instance, result.answer)
    if result.identity == _source(instance):
        return _without_source(instance, result.answer)
    if result.answer == Answer.CONFLICT:  # another attempt is live, which this conductor does not know
        return set_step(instance, SagaStep.ABORT)
    return move_back_again(instance, None)  # the attempt has ended: another one is needed


def _without_source(instance: InstanceRecord, answer: str) -> InstanceRecord:
    """Return the record of an instance whose migration does not have the claim that is to be taken back."""
    if answer == Answer.UNKNOWN:
        return set_step(instance, SagaStep.HAND_OVER)  # the claims service forgot that it was handed over
    if answer in ENDED_ANSWERS:
        return moves.end_source(instance, f"its claim was {answer}")
    return moves.settle_without_move(instance, f"its claim could not be taken back: {answer}")
