# SPDX-License-Identifier: Apache-2.0
"""Steps STOP_SOURCE, STOP_DESTINATION, RESUME and END_SOURCE: change the guest at one end of a move.

Each request is repeated until that end reports the change.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from conductor import claim_answers
from conductor.collaborators import CALL_ERRORS
from conductor.saga import cast, live_moves, moves
from conductor.saga.claims import ENDED_ANSWERS, find
from conductor.saga.evacuations import LOST
from conductor.saga.move_claims import begin_again
from conductor.saga.step_context import StepContext
from conductor.saga.transitions import end_attempt, fail
from conductor.store.records import InstanceRecord
from rpcapi import objects
from rpcapi.objects.guest import CONTINUE, END, RUN, STOP
from rpcapi.resources.claims import Answer, ClaimRole
from rpcapi.resources.statuses import InstanceStatus


class _End(NamedTuple):
    host: str
    partition: str | None
    attempt: int


class _Change(NamedTuple):
    """Request to one end of a move; ``on_end`` returns the record if that end's claim has ended."""

    role: ClaimRole
    action_of: Callable[[InstanceRecord], str]
    on_end: Callable[[InstanceRecord, str], InstanceRecord]


def stop_source(context: StepContext, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Stop the guests at their sources before the build; in a revert, the report proves that the guest exists."""
    return _request(context, instances, _Change(ClaimRole.SOURCE, lambda _instance: STOP, moves.end_source))


def stop_destination(context: StepContext, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Stop the guests at the destinations of reverted moves, where they stay until the sources run."""
    return _request(context, instances, _Change(ClaimRole.DESTINATION, lambda _instance: STOP, _lose_destination))


def end_source(context: StepContext, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Remove the guests from their sources, which then release their claims.

    If a destination has ended, the source has the last copy: the instance returns unless it is deleted.
    """
    deleted = [instance for instance in instances if instance.status == InstanceStatus.DELETING]
    others = [instance for instance in instances if instance.status != InstanceStatus.DELETING]
    proceeding, changed = _ask_other_ends(context, others, ClaimRole.DESTINATION, _lose_destination)
    change = _Change(ClaimRole.SOURCE, lambda _instance: END, _finish_source)
    return [*_request(context, [*proceeding, *deleted], change), *changed]


def terminate(context: StepContext, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """End the current guests, but keep a reverted move's destination if its source has ended.

    The destination is then the last copy.
    """
    returned = [instance for instance in instances if _has_returned(instance)]
    others = [instance for instance in instances if not _has_returned(instance)]
    proceeding, changed = _ask_other_ends(context, returned, ClaimRole.SOURCE, moves.end_source)
    return [*cast.terminate(context, [*proceeding, *others]), *changed]


def _ask_other_ends(
    context: StepContext,
    instances: Sequence[InstanceRecord],
    role: ClaimRole,
    on_end: Callable[[InstanceRecord, str], InstanceRecord],
) -> tuple[list[InstanceRecord], list[InstanceRecord]]:
    """Read the claims at the ends with ``role``.

    Returns (instances whose claim there is live, changed records of the other instances).
    """
    proceeding: list[InstanceRecord] = []
    changed: list[InstanceRecord] = []
    for partition in {_end_of(instance, role).partition for instance in instances}:
        group = [instance for instance in instances if _end_of(instance, role).partition == partition]
        refs = [(instance.uuid, _end_of(instance, role).attempt) for instance in group]
        try:
            results = claim_answers.find(context.new_ctxt(), context.clients, partition, refs)
        except CALL_ERRORS as error:
            changed += [context.retry_later(instance, error) for instance in group]
            continue
        for instance, claim in zip(group, results, strict=True):
            if claim.state in ENDED_ANSWERS:
                changed.append(on_end(instance, f"its claim was {claim.state}"))
            elif claim.state == Answer.CLOSED:
                changed.append(context.retry_later(instance, f"the claim of its {role} is {claim.state}"))
            else:
                proceeding.append(instance)
    return proceeding, changed


def _has_returned(instance: InstanceRecord) -> bool:
    is_moving = instance.open_migration is not None and instance.status != InstanceStatus.DELETING
    return is_moving and moves.is_returning(instance)


def resume(context: StepContext, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Continue the guests at their sources, or at the destination if the source has ended.

    Guests that were off stay off.
    """
    returning = [instance for instance in instances if moves.is_returning(instance)]
    others = [instance for instance in instances if not moves.is_returning(instance)]
    return [
        *_request(context, others, _Change(ClaimRole.ONLY, _resumed, _lose_claim)),
        *_request(context, returning, _Change(ClaimRole.SOURCE, _resumed, moves.end_source)),
    ]


def _resumed(instance: InstanceRecord) -> str:
    if instance.move.was_stopped:
        return STOP
    return CONTINUE if live_moves.keeps_memory(instance) else RUN


def _finish_source(instance: InstanceRecord, reason: str) -> InstanceRecord:
    end = live_moves.end_source if live_moves.moves_live(instance) else moves.end_source
    return end(instance, reason) or instance


def _lose_claim(instance: InstanceRecord, reason: str) -> InstanceRecord:
    return moves.lose_claim(instance, LOST, reason)


def _lose_destination(instance: InstanceRecord, reason: str) -> InstanceRecord:
    if live_moves.moves_live(instance):
        return live_moves.lose_destination(instance, LOST, reason)
    return fail(end_attempt(instance, LOST, reason), None)


def _request(context: StepContext, instances: Sequence[InstanceRecord], change: _Change) -> list[InstanceRecord]:
    def place_of(instance: InstanceRecord) -> tuple[str, str | None]:
        end = _end_of(instance, change.role)
        return end.host, end.partition

    return cast.request_report(
        context,
        instances,
        lambda host, group: _send(context, host, group, change),
        lambda instance: _check_claim(context, instance, change),
        place_of=place_of,
    )


def _end_of(instance: InstanceRecord, role: ClaimRole) -> _End:
    migration = instance.move
    if role is ClaimRole.SOURCE:
        return _End(migration.source_host, migration.source_partition, migration.source_attempt)
    return _End(instance.host or "", instance.partition, instance.attempt)


def _send(context: StepContext, host: str, group: Sequence[InstanceRecord], change: _Change) -> None:
    ends = [_end_of(instance, change.role) for instance in group]
    transitions = objects.GuestTransitions.of(
        partition=ends[0].partition or context.clients.partition,
        uuids=[instance.uuid for instance in group],
        attempts=[end.attempt for end in ends],
        actions=[change.action_of(instance) for instance in group],
        numbers=[instance.transition_number for instance in group],
        moves=[moves.message_of(instance, change.role) for instance in group],
    )
    context.clients.compute.change_guests(context.new_ctxt(), host, transitions)


def _check_claim(context: StepContext, instance: InstanceRecord, change: _Change) -> InstanceRecord:
    end = _end_of(instance, change.role)
    try:
        claim = find(context, end.partition, instance.uuid, end.attempt)
        is_end = claim.migration == instance.move.uuid or change.role is not ClaimRole.SOURCE
        # Either the move has ended, or the claims service lost its beginning.
        if claim.state == Answer.CONFIRMED and not is_end and begin_again(context, instance) != Answer.CONFIRMED:
            return moves.settle_returned(instance, "its claim on the source is its only one")
    except CALL_ERRORS as error:
        return context.retry_later(instance, error)
    if claim.state in ENDED_ANSWERS:
        return change.on_end(instance, f"its claim was {claim.state}")
    return context.retry_later(instance, f"its host sent no report; its claim is {claim.state}")
