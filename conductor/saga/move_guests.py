# SPDX-License-Identifier: Apache-2.0
"""Steps STOP_SOURCE, STOP_DESTINATION, RESUME and END_SOURCE: request an end of a move to change its guest.

Each request is repeated until that end reports the change.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from conductor.saga import cast, live_moves, moves
from conductor.saga.claims import find_end, find_source
from conductor.saga.evacuations import LOST
from conductor.saga.move_claims import begin_again
from conductor.saga.saga_pass import SagaPass
from conductor.saga.transitions import end_attempt, fail
from conductor.service_clients import NO_ANSWER_ERRORS
from conductor.store.records import InstanceRecord, InstanceStatus
from rpcapi import errors, objects
from rpcapi.objects.transition import END, RUN, STOP
from rpcapi.resources.claims import ENDS, Answer, ClaimRole


class _End(NamedTuple):
    """One end of a move: where its claim is."""

    host: str
    partition: str | None
    attempt: int


class _Change(NamedTuple):
    """Request of the end of a move that has ``role``.

    ``action_of`` returns its action, ``on_end`` the record if its claim has ended.
    """

    role: ClaimRole
    action_of: Callable[[InstanceRecord], str]
    on_end: Callable[[InstanceRecord, str], InstanceRecord]


def stop_source(saga_pass: SagaPass, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Stop the guests at their sources: a destination is built only when nothing runs there any more.

    The source of a reverted move has stopped its guest long ago, and shows by its report that it still has it.
    """
    return _request(saga_pass, instances, _Change(ClaimRole.SOURCE, lambda _instance: STOP, moves.end_source))


def stop_destination(saga_pass: SagaPass, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Stop the guests at the destinations of reverted moves, where they stay until the sources run them."""
    return _request(saga_pass, instances, _Change(ClaimRole.DESTINATION, lambda _instance: STOP, _lose_destination))


def end_source(saga_pass: SagaPass, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Remove the guests from their sources, which then release their claims.

    If the destination of a confirmed move has ended meanwhile, the source has the last copy: the instance returns.
    """
    proceeding, changed = _ask_other_ends(saga_pass, instances, _is_confirmed, _check_destination)
    change = _Change(ClaimRole.SOURCE, lambda _instance: END, _finish_source)
    return [*_request(saga_pass, proceeding, change), *changed]


def terminate(saga_pass: SagaPass, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """End the guests of the current attempts; at the destination of a reverted move only while the source has a claim.

    If the source has ended meanwhile, the destination has the last copy: the instance stays there.
    """
    proceeding, changed = _ask_other_ends(saga_pass, instances, _has_returned, _check_source)
    return [*cast.terminate(saga_pass, proceeding), *changed]


def _ask_other_ends(
    saga_pass: SagaPass,
    instances: Sequence[InstanceRecord],
    has_other_end: Callable[[InstanceRecord], bool],
    check: Callable[[SagaPass, InstanceRecord], InstanceRecord],
) -> tuple[list[InstanceRecord], list[InstanceRecord]]:
    """Return the instances whose step may remove a copy, and the records of those that must keep it."""
    proceeding: list[InstanceRecord] = []
    changed: list[InstanceRecord] = []
    for instance in instances:
        checked = check(saga_pass, instance) if has_other_end(instance) else instance
        (proceeding if checked is instance else changed).append(checked)
    return proceeding, changed


def _is_confirmed(instance: InstanceRecord) -> bool:
    return instance.status != InstanceStatus.DELETING and not live_moves.moves_live(instance)


def _has_returned(instance: InstanceRecord) -> bool:
    is_moving = instance.open_migration is not None and instance.status != InstanceStatus.DELETING
    return is_moving and moves.is_returning(instance)


def _check_destination(saga_pass: SagaPass, instance: InstanceRecord) -> InstanceRecord:
    """Return the record as it is if the destination has its claim."""
    try:
        answer, _migration = find_end(saga_pass, instance.partition, instance.uuid, instance.attempt)
    except (*NO_ANSWER_ERRORS, errors.GanttError) as error:
        return saga_pass.retry_later(instance, error)
    return _lose_destination(instance, f"its claim was {answer}") if answer in ENDS else instance


def _check_source(saga_pass: SagaPass, instance: InstanceRecord) -> InstanceRecord:
    """Return the record as it is if the source has its claim."""
    try:
        answer, _migration = find_source(saga_pass, instance)
    except (*NO_ANSWER_ERRORS, errors.GanttError) as error:
        return saga_pass.retry_later(instance, error)
    return moves.end_source(instance, f"its claim was {answer}") if answer in ENDS else instance


def resume(saga_pass: SagaPass, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Let the guests continue at their sources, running unless they were stopped before.

    If the source ended before it could continue a guest, that continues at its destination.
    """
    returning = [instance for instance in instances if moves.is_returning(instance)]
    others = [instance for instance in instances if not moves.is_returning(instance)]
    return [
        *_request(saga_pass, others, _Change(ClaimRole.ONLY, _resumed, _lose_claim)),
        *_request(saga_pass, returning, _Change(ClaimRole.SOURCE, _resumed, moves.end_source)),
    ]


def _resumed(instance: InstanceRecord) -> str:
    return STOP if instance.move.was_stopped else RUN


def _finish_source(instance: InstanceRecord, reason: str) -> InstanceRecord:
    end = live_moves.end_source if live_moves.moves_live(instance) else moves.end_source
    return end(instance, reason) or instance


def _lose_claim(instance: InstanceRecord, reason: str) -> InstanceRecord:
    return moves.lose_claim(instance, LOST, reason)


def _lose_destination(instance: InstanceRecord, reason: str) -> InstanceRecord:
    return fail(end_attempt(instance, LOST, reason), None)


def _request(saga_pass: SagaPass, instances: Sequence[InstanceRecord], change: _Change) -> list[InstanceRecord]:
    def place_of(instance: InstanceRecord) -> tuple[str, str | None]:
        end = _end_of(instance, change.role)
        return end.host, end.partition

    return cast.request_report(
        saga_pass,
        instances,
        lambda host, group: _send(saga_pass, host, group, change),
        lambda instance: _check_claim(saga_pass, instance, change),
        place_of=place_of,
    )


def _end_of(instance: InstanceRecord, role: ClaimRole) -> _End:
    """Return the end of an instance's move that has ``role``."""
    migration = instance.move
    if role is ClaimRole.SOURCE:
        return _End(migration.source_host, migration.source_partition, migration.source_attempt)
    return _End(instance.host or "", instance.partition, instance.attempt)


def _send(saga_pass: SagaPass, host: str, group: Sequence[InstanceRecord], change: _Change) -> None:
    ends = [_end_of(instance, change.role) for instance in group]
    transitions = objects.GuestTransitions.of(
        partition=ends[0].partition or saga_pass.clients.partition,
        uuids=[instance.uuid for instance in group],
        attempts=[end.attempt for end in ends],
        actions=[change.action_of(instance) for instance in group],
        numbers=[instance.transition_number for instance in group],
        moves=[moves.message_of(instance, change.role) for instance in group],
    )
    saga_pass.clients.compute.change_guests(saga_pass.context(), host, transitions)


def _check_claim(saga_pass: SagaPass, instance: InstanceRecord, change: _Change) -> InstanceRecord:
    end = _end_of(instance, change.role)
    try:
        answer, migration = find_end(saga_pass, end.partition, instance.uuid, end.attempt)
        is_only = answer == Answer.CONFIRMED and migration is None and change.role is ClaimRole.SOURCE
        # Either the move has ended, or the claims service forgot its begin.
        if is_only and begin_again(saga_pass, instance) != Answer.CONFIRMED:
            return moves.settle_returned(instance, "its claim on the source is its only one")
    except (*NO_ANSWER_ERRORS, errors.GanttError) as error:
        return saga_pass.retry_later(instance, error)
    if answer in ENDS:
        return change.on_end(instance, f"its claim was {answer}")
    return saga_pass.retry_later(instance, f"its host sent no report; its claim is {answer}")
