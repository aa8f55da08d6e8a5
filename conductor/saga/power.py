# SPDX-License-Identifier: Apache-2.0
"""Step POWER: ask hosts to stop, start, reboot or rebuild guests, until they report the result."""

import functools
from collections.abc import Sequence
from typing import Any

from conductor.collaborators import CALL_ERRORS
from conductor.saga import cast, claims
from conductor.saga.step_context import StepContext
from conductor.saga.transitions import lose, settle_claims
from conductor.store.records import InstanceRecord
from rpcapi import objects
from rpcapi.objects.guest import REBOOT, REBUILD, RUN, STOP
from rpcapi.resources import names
from rpcapi.resources.claims import Answer
from rpcapi.resources.statuses import InstanceStatus

ACTIONS = {InstanceStatus.STOPPING: STOP, InstanceStatus.SHELVING: STOP, InstanceStatus.STARTING: RUN}
OPERATIONS = {
    InstanceStatus.REBOOT: REBOOT,
    InstanceStatus.HARD_REBOOT: REBOOT,
    InstanceStatus.REBUILD: REBUILD,
}


def change_power(context: StepContext, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Repeat each message until the host reports the state.

    An instance is lost if its host is silent and the claim has ended.
    """
    return cast.request_report(
        context,
        instances,
        functools.partial(_send, context),
        functools.partial(_check_claim, context),
    )


def _send(context: StepContext, host: str, group: Sequence[InstanceRecord]) -> None:
    operations = [instance for instance in group if instance.status in OPERATIONS]
    if operations:
        _send_operations(context, host, operations)
    transitions = [instance for instance in group if instance.status in ACTIONS]
    if transitions:
        actions = [ACTIONS[instance.status] for instance in transitions]
        cast.send_transitions(context, host, transitions, actions)


def _send_operations(context: StepContext, host: str, group: Sequence[InstanceRecord]) -> None:
    images = [_image_of(context, instance) for instance in group]
    operations = objects.GuestOperations.of(
        partition=group[0].partition or context.clients.partition,
        uuids=[instance.uuid for instance in group],
        attempts=[instance.attempt for instance in group],
        actions=[OPERATIONS[instance.status] for instance in group],
        numbers=[instance.operation for instance in group],
        images=images if any(images) else [],
    )
    context.clients.compute.operate_guests(context.new_ctxt(), host, operations)


def _image_of(context: StepContext, instance: InstanceRecord) -> dict[str, Any] | None:
    is_rebuild = instance.status == InstanceStatus.REBUILD and instance.spec is not None
    return (dict(context.spec_of(instance).image) or None) if is_rebuild else None


def _check_claim(context: StepContext, instance: InstanceRecord) -> InstanceRecord:
    try:
        answer = claims.find(context, instance.partition, instance.uuid, instance.attempt).answer
    except CALL_ERRORS as error:
        return context.retry_later(instance, error)
    if answer == Answer.CONFLICT:  # this store has lost a later attempt, which is live
        return settle_claims(instance)
    if answer not in claims.ENDED_ANSWERS:
        return context.retry_later(instance, f"its host sent no report; its claim is {answer}")
    reason = f"host {names.host_of(instance.host or '')} no longer runs it: its claim was {answer}"
    return lose(instance, reason)
