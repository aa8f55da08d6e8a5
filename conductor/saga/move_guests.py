# SPDX-License-Identifier: Apache-2.0
"""Steps STOP_SOURCE, END_SOURCE and RESUME: request the source of a move to change its guest, until it has reported."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from conductor.saga import cast, moves
from conductor.saga.claims import find_source
from conductor.saga.saga_pass import SagaPass
from conductor.service_clients import NO_ANSWER_ERRORS
from conductor.store.records import InstanceRecord
from rpcapi import errors, objects
from rpcapi.objects.transition import END, RUN, STOP
from rpcapi.resources.claims import ENDS, Answer, ClaimRole


class _Change(NamedTuple):
    """Request of a source: ``action_of`` returns its action, ``on_end`` the record if its claim has ended."""

    action_of: Callable[[InstanceRecord], str]
    role: ClaimRole
    on_end: Callable[[InstanceRecord, str], InstanceRecord]


def stop_source(saga_pass: SagaPass, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Stop the guests at their sources; the destinations are built only after that."""
    return _request(saga_pass, instances, _Change(lambda _instance: STOP, ClaimRole.SOURCE, moves.end_source))


def end_source(saga_pass: SagaPass, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Remove the guests from their sources, which then release their claims."""
    return _request(saga_pass, instances, _Change(lambda _instance: END, ClaimRole.SOURCE, moves.end_source))


def resume(saga_pass: SagaPass, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Let the guests continue at their sources, running unless they were stopped before."""
    return _request(
        saga_pass,
        instances,
        _Change(_resumed, ClaimRole.ONLY, lambda instance, reason: moves.lose_claim(instance, "lost", reason)),
    )


def _resumed(instance: InstanceRecord) -> str:
    return STOP if instance.move.was_stopped else RUN


def _request(saga_pass: SagaPass, instances: Sequence[InstanceRecord], change: _Change) -> list[InstanceRecord]:
    return cast.request_report(
        saga_pass,
        instances,
        lambda host, group: _send(saga_pass, host, group, change),
        lambda instance: _check_claim(saga_pass, instance, change),
        place_of=lambda instance: (instance.move.source_host, instance.move.source_partition),
    )


def _send(saga_pass: SagaPass, host: str, group: Sequence[InstanceRecord], change: _Change) -> None:
    transitions = objects.GuestTransitions.of(
        partition=group[0].move.source_partition or saga_pass.clients.partition,
        uuids=[instance.uuid for instance in group],
        attempts=[instance.move.source_attempt for instance in group],
        actions=[change.action_of(instance) for instance in group],
        moves=[moves.message_of(instance, change.role) for instance in group],
    )
    saga_pass.clients.compute.change_guests(saga_pass.context(), host, transitions)


def _check_claim(saga_pass: SagaPass, instance: InstanceRecord, change: _Change) -> InstanceRecord:
    try:
        answer, migration = find_source(saga_pass, instance)
    except (*NO_ANSWER_ERRORS, errors.GanttError) as error:
        return saga_pass.retry_later(instance, error)
    if answer in ENDS:
        return change.on_end(instance, f"its claim was {answer}")
    if answer == Answer.CONFIRMED and migration is None and change.role == ClaimRole.SOURCE:
        return moves.settle_returned(instance, "its claim on the source is its only one")
    return saga_pass.retry_later(instance, f"its host sent no report; its claim is {answer}")
