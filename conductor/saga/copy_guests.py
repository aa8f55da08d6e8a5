# SPDX-License-Identifier: Apache-2.0
"""Steps PREPARE_COPY, COPY and SWITCH of a live migration: messages to both ends until they report."""

import functools
from collections.abc import Sequence
from dataclasses import replace

from conductor.collaborators import CALL_ERRORS
from conductor.saga import cast, moves
from conductor.saga.claims import ENDED_ANSWERS, find
from conductor.saga.live_moves import ABORTED, end_source, give_up, is_aborted, lose_destination
from conductor.saga.step_context import StepContext
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi import objects
from rpcapi.objects.copy import DONE, START
from rpcapi.objects.guest import RUN
from rpcapi.resources import names
from rpcapi.resources.claims import Answer, ClaimRole


def prepare_copy(context: StepContext, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    return [_prepare(context, instance) for instance in instances]


def copy(context: StepContext, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    return cast.request_report(
        context,
        instances,
        functools.partial(_send_copies, context),
        functools.partial(_check_claims, context),
        lambda instance: (instance.move.source_host, instance.move.source_partition),
    )


def switch(context: StepContext, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Ask each destination to run its guest.

    If the destination runs before the copy is complete, repeated copy messages make the source report the copy.
    """
    send, check = functools.partial(_send_switches, context), functools.partial(_check_claims, context)
    copying = [instance for instance in instances if instance.move.is_resumed and instance.move.copy_phase != DONE]
    others = [instance for instance in instances if instance not in copying]
    return [*copy(context, copying), *cast.request_report(context, others, send, check)]


def _prepare(context: StepContext, instance: InstanceRecord) -> InstanceRecord:
    since_ms = instance.since_ms or context.now_ms
    waited_ms = context.now_ms - since_ms
    if is_aborted(instance):
        return give_up(instance, ABORTED)
    if waited_ms >= context.limits.build_timeout_ms:
        return give_up(instance, f"no report within {waited_ms / 1000:g} s")
    instance = replace(instance, since_ms=since_ms)
    checked = instance if instance.move.with_disk is not None else _check(context, instance)
    return checked if checked.move.with_disk is None else _request_guest(context, checked, waited_ms)


def _request_guest(context: StepContext, instance: InstanceRecord, waited_ms: int) -> InstanceRecord:
    sent, _unsent = cast.send_by_host([instance], functools.partial(_send_incoming, context))
    if not sent:
        return context.retry_later(instance, "the message to its destination could not be sent")
    return replace(instance, tries=0, wake_ms=context.now_ms + context.recast_pause(waited_ms))


def _check(context: StepContext, instance: InstanceRecord) -> InstanceRecord:
    """Check both ends. Return the record with ``with_disk`` set, with a failed attempt, or due for a retry."""
    try:
        return _check_ends(context, instance)
    except CALL_ERRORS as error:
        return context.retry_later(instance, error)


def _check_ends(context: StepContext, instance: InstanceRecord) -> InstanceRecord:
    migration = instance.move
    source = _call(context, migration.source_host, objects.MigrationChecks.of(instances=[instance.uuid]))
    if source.reasons[0]:
        return give_up(instance, f"the check at its source failed: {source.reasons[0]}", is_final=True)
    checks = objects.MigrationChecks.of(
        instances=[instance.uuid], names=[instance.host or ""], facts=[{**source.facts[0]}]
    )
    destination = _call(context, instance.host or "", checks)
    if destination.reasons[0]:
        return give_up(instance, f"the check at its destination failed: {destination.reasons[0]}")
    storage = source.facts[0].get("storage")
    is_shared = bool(storage) and storage == destination.facts[0].get("storage")
    return replace(instance, migration=replace(migration, with_disk=not is_shared))


def _call(context: StepContext, host: str, checks: objects.MigrationChecks) -> objects.MigrationChecks:
    clients = context.clients
    answer: objects.MigrationChecks = clients.call_agent(
        context.new_ctxt(), names.host_of(host), clients.compute.check_migrations, checks
    )
    return answer


def _send_incoming(context: StepContext, host: str, group: Sequence[InstanceRecord]) -> None:
    context.clients.compute.prepare_incoming(context.new_ctxt(), host, cast.build_request(context, group))


def _send_copies(context: StepContext, host: str, group: Sequence[InstanceRecord]) -> None:
    migrations = [instance.move for instance in group]
    copies = objects.GuestCopies.of(
        partition=migrations[0].source_partition or context.clients.partition,
        uuids=[instance.uuid for instance in group],
        attempts=[migration.source_attempt for migration in migrations],
        migrations=[migration.uuid for migration in migrations],
        numbers=[instance.attempt for instance in group],
        actions=[migration.copy_request or START for migration in migrations],
        destinations=[instance.host or "" for instance in group],
        with_disk=[bool(migration.with_disk) for migration in migrations],
        post_copy=[context.limits.permits_post_copy] * len(group),
    )
    context.clients.compute.copy_guests(context.new_ctxt(), host, copies)


def _send_switches(context: StepContext, host: str, group: Sequence[InstanceRecord]) -> None:
    messages = [moves.message_of(instance, ClaimRole.DESTINATION) for instance in group]
    cast.send_transitions(context, host, group, [RUN] * len(group), messages)


def _check_claims(context: StepContext, instance: InstanceRecord) -> InstanceRecord:
    try:
        migration = instance.move
        source = find(context, migration.source_partition, instance.uuid, migration.source_attempt).state
        destination = find(context, instance.partition, instance.uuid, instance.attempt).answer
        is_over = destination in ENDED_ANSWERS and not _will_report(context, instance, destination)
    except CALL_ERRORS as error:
        return context.retry_later(instance, error)
    changed = None
    if source in ENDED_ANSWERS:
        changed = end_source(instance, f"its claim was {source}")
    if changed is None and is_over:
        changed = lose_destination(instance, "lost", f"its claim was {destination}")
    return changed or context.retry_later(instance, f"no report; the claims are {source} and {destination}")


def _will_report(context: StepContext, instance: InstanceRecord, destination: str) -> bool:
    """Return whether the destination's agent released the claim, and so will report; False after a fence.

    Raises GanttError or NO_ANSWER_ERRORS.
    """
    if instance.step != SagaStep.SWITCH or destination != Answer.RELEASED:
        return False
    document = context.clients.service_document(context.new_ctxt(), names.host_of(instance.host or ""))
    return document is not None and bool(document.get("alive") or document.get("audited"))
