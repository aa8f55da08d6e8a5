# SPDX-License-Identifier: Apache-2.0
"""Steps BEGIN_MOVE and END_MOVE: make a claim a migration's source, or the only claim again."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

from conductor.collaborators import CALL_ERRORS
from conductor.saga import claims, moves
from conductor.saga.claims import ENDED_ANSWERS, find_elsewhere
from conductor.saga.evacuations import LOST
from conductor.saga.step_context import StepContext
from conductor.saga.transitions import set_step
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi import objects
from rpcapi.clients.claims import ClaimsAPI
from rpcapi.context import RequestContext
from rpcapi.resources.claims import Answer
from rpcapi.resources.statuses import InstanceStatus

# The host's next audit decides on these claims, and may confirm them again.
UNDECIDED = (Answer.CLOSED, Answer.PREPARED)
FORGOTTEN = "its record was lost, and another destination is live"

MoveMethod = Callable[[RequestContext, objects.ClaimRefs, list[str]], objects.ClaimAnswers]


def begin_move(context: StepContext, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    return _change(context, instances, lambda client: client.begin_moves, _begun)


def begin_again(context: StepContext, instance: InstanceRecord) -> str:
    """Make the claim the migration's source again; return the answer."""
    migration = instance.move
    client = context.clients.claims_of(migration.source_partition)
    refs = objects.ClaimRefs.of(consumers=[instance.uuid], attempts=[migration.source_attempt])
    (answer,) = client.begin_moves(context.new_ctxt(), refs, [migration.uuid]).answers
    return str(answer)


def end_move(context: StepContext, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Make source claims the only claims; their partition refuses while a destination is live.

    Step SETTLE finds a destination that this store has lost, in any partition.
    """
    ending: list[InstanceRecord] = []
    changed: list[InstanceRecord] = []
    for instance in instances:
        settled = None if context.is_certain(instance) else _settle_elsewhere(context, instance)
        if settled is None:
            ending.append(instance)
        else:
            changed.append(settled)
    return [*_change(context, ending, lambda client: client.end_moves, _ended), *changed]


def _settle_elsewhere(context: StepContext, instance: InstanceRecord) -> InstanceRecord | None:
    """Return the record set to settle with a claim in a different partition, or to retry.

    Returns None if there is no such claim.
    """
    try:
        elsewhere = find_elsewhere(context, instance)
    except CALL_ERRORS as error:
        return context.retry_later(instance, error)
    return None if elsewhere is None else moves.settle_without_move(instance, FORGOTTEN)


def _change(
    context: StepContext,
    instances: Sequence[InstanceRecord],
    method_of: Callable[[ClaimsAPI], MoveMethod],
    apply: Callable[[StepContext, InstanceRecord, str, str | None], InstanceRecord],
) -> list[InstanceRecord]:
    def partition_of(instance: InstanceRecord) -> str:
        return instance.move.source_partition or context.clients.partition

    changed = []
    for partition, members in groupby(sorted(instances, key=partition_of), key=partition_of):
        group = list(members)
        refs = objects.ClaimRefs.of(
            consumers=[instance.uuid for instance in group],
            attempts=[instance.move.source_attempt for instance in group],
        )
        change = method_of(context.clients.claims_of(partition))
        try:
            context.check_stores(group)
            result = change(context.new_ctxt(), refs, [instance.move.uuid for instance in group])
        except CALL_ERRORS as error:
            changed += [context.retry_later(instance, error) for instance in group]
            continue
        rows = zip(group, result.answers, result.migrations or [None] * len(group), strict=True)
        changed += [apply(context, instance, answer, migration) for instance, answer, migration in rows]
    return changed


def _begun(context: StepContext, instance: InstanceRecord, answer: str, migration: str | None) -> InstanceRecord:
    if answer == Answer.CONFIRMED and instance.status == InstanceStatus.DELETING:
        # The move may have begun earlier, so end its destination first.
        return set_step(instance, SagaStep.ABORT, attempt=instance.next_attempt, host=None)
    if answer == Answer.CONFIRMED:
        return moves.select_next(instance)
    if answer in UNDECIDED:
        return context.retry_later(instance, answer)
    if answer == Answer.CONFLICT and migration is not None and context.is_certain(instance):
        return _end_earlier(context, instance, migration)
    if answer in ENDED_ANSWERS and answer not in (Answer.UNKNOWN, Answer.ENDED):
        return moves.lose_claim(instance, LOST, f"its claim was {answer}")
    # The migration will never have the claim, but the instance may: step SETTLE reads its claims.
    return moves.settle_returned(instance, f"its claim could not move: {answer}")


def _end_earlier(context: StepContext, instance: InstanceRecord, migration: str) -> InstanceRecord:
    """End a source's previous migration again: the record says it ended, but the partition lost that write."""
    source = instance.move
    try:
        claims.end_move(context, source.source_partition, instance.uuid, source.source_attempt, migration)
    except CALL_ERRORS as error:
        return context.retry_later(instance, error)
    return context.retry_later(instance, f"its claim was the source of migration {migration}")


def _ended(context: StepContext, instance: InstanceRecord, answer: str, _migration: str | None) -> InstanceRecord:
    if answer == Answer.CONFIRMED:
        return moves.resume(instance)
    if answer in UNDECIDED:
        return context.retry_later(instance, answer)
    if answer == Answer.CONFLICT and not context.is_certain(instance):
        return moves.settle_without_move(instance, FORGOTTEN)
    if answer == Answer.CONFLICT:  # a live attempt that this conductor does not know
        return replace(context.retry_later(instance, answer), step=SagaStep.ABORT)
    if answer in ENDED_ANSWERS and answer != Answer.ENDED:
        return moves.end_source(instance, f"its claim was {answer}")
    # A move that this conductor does not know has the claim. Step SETTLE reads the claims.
    return moves.settle_returned(instance, f"its claim could not be taken back: {answer}")
