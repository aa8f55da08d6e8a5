# SPDX-License-Identifier: Apache-2.0
"""Steps STOP_SOURCE, END_SOURCE and RESUME: request the source of a move to change its guest, until it reports that.

Each message names the identities by which the host may still know the guest, so that no order of messages is needed.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from conductor.saga import cast, moves
from conductor.saga.saga_pass import SagaPass
from conductor.service_clients import NO_ANSWER_ERRORS
from conductor.store.migrations import CLAIM_ATTEMPT
from conductor.store.records import InstanceRecord, InstanceStatus
from rpcapi import errors, objects
from rpcapi.objects.transition import END, RUN, STOP
from rpcapi.resources.claims import ENDS


class _Guest(NamedTuple):
    """The guest of an instance at its source: its identity, those before, and what it is to do."""

    consumer: str
    attempt: int
    origins: list[list[str | int]]
    action: str


class _Change(NamedTuple):
    """``guest_of`` returns what is requested, ``on_end`` the record where its claim has ended, for that reason."""

    guest_of: Callable[[InstanceRecord], _Guest]
    on_end: Callable[[InstanceRecord, str], InstanceRecord]


def stop_source(saga_pass: SagaPass, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Stop the guests at their sources: a destination is built only when nothing runs there any more."""
    return _request(saga_pass, instances, _Change(lambda instance: _as_migration(instance, STOP), moves.end_source))


def end_source(saga_pass: SagaPass, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Remove the guests from their sources, which then release the claims of the migrations."""
    return _request(saga_pass, instances, _Change(lambda instance: _as_migration(instance, END), moves.end_source))


def resume(saga_pass: SagaPass, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Let the guests continue at their sources as their instances, running unless they were stopped before."""
    return _request(
        saga_pass,
        instances,
        _Change(_as_instance, lambda instance, reason: moves.lose_claim(instance, "lost", reason)),
    )


def _as_migration(instance: InstanceRecord, action: str) -> _Guest:
    migration = instance.move
    return _Guest(migration.uuid, CLAIM_ATTEMPT, [[instance.uuid, migration.source_attempt]], action)


def _as_instance(instance: InstanceRecord) -> _Guest:
    migration = instance.move
    origins: list[list[str | int]] = [[migration.uuid, CLAIM_ATTEMPT], [instance.uuid, migration.source_attempt]]
    action = STOP if migration.was_stopped else RUN
    if instance.status == InstanceStatus.DELETING:
        action = END
    return _Guest(instance.uuid, instance.attempt, origins, action)


def _request(saga_pass: SagaPass, instances: Sequence[InstanceRecord], change: _Change) -> list[InstanceRecord]:
    """Send each source its message; every CLAIM_CHECK_INTERVAL-th try reads the claim instead: it may be fenced."""
    by_uuid = {instance.uuid: instance for instance in instances}
    silent = [instance for instance in instances if (instance.tries + 1) % cast.CLAIM_CHECK_INTERVAL == 0]
    at_sources = [_at_source(instance) for instance in instances if instance not in silent]
    sent, unsent = cast.send_by_host(at_sources, lambda host, group: _send(saga_pass, host, group, change.guest_of))
    waiting = [
        saga_pass.retry_later(by_uuid[instance.uuid], "waiting for the report", slower=cast.TERMINATE_PAUSE_FACTOR)
        for instance in sent
    ]
    waiting += [
        saga_pass.retry_later(by_uuid[instance.uuid], "the message to its host could not be sent")
        for instance in unsent
    ]
    return waiting + [_check_claim(saga_pass, instance, change) for instance in silent]


def _at_source(instance: InstanceRecord) -> InstanceRecord:
    migration = instance.move
    return replace(instance, host=migration.source_host, partition=migration.source_partition)


def _send(
    saga_pass: SagaPass, host: str, group: Sequence[InstanceRecord], guest_of: Callable[[InstanceRecord], _Guest]
) -> None:
    guests = [guest_of(instance) for instance in group]
    transitions = objects.GuestTransitions.of(
        partition=group[0].partition or saga_pass.clients.partition,
        consumers=[guest.consumer for guest in guests],
        attempts=[guest.attempt for guest in guests],
        instances=[instance.uuid for instance in group],
        origins=[guest.origins for guest in guests],
        actions=[guest.action for guest in guests],
    )
    saga_pass.clients.compute.change_guests(saga_pass.context(), host, transitions)


def _check_claim(saga_pass: SagaPass, instance: InstanceRecord, change: _Change) -> InstanceRecord:
    guest, partition = change.guest_of(instance), instance.move.source_partition
    refs = objects.ClaimRefs.of(consumers=[guest.consumer], attempts=[guest.attempt])
    try:
        (answer,) = saga_pass.clients.claims_of(partition).find_claims(saga_pass.context(), refs).answers
    except (*NO_ANSWER_ERRORS, errors.GanttError) as error:
        return saga_pass.retry_later(instance, error)
    if answer not in ENDS:
        return saga_pass.retry_later(instance, f"its host sent no report; its claim is {answer}")
    return change.on_end(instance, f"its claim was {answer}")
