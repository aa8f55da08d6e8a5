# SPDX-License-Identifier: Apache-2.0
"""Requests to stop or start instances; the saga executes them."""

from conductor.saga.transitions import set_numbered_step
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi import errors
from rpcapi.resources.statuses import InstanceStatus

# {recorded status: status required before} and {recorded status: status after the request}.
ALLOWED = {InstanceStatus.STOPPING: InstanceStatus.ACTIVE, InstanceStatus.STARTING: InstanceStatus.SHUTOFF}
DONE = {InstanceStatus.STOPPING: InstanceStatus.SHUTOFF, InstanceStatus.STARTING: InstanceStatus.ACTIVE}


def stop(instance: InstanceRecord) -> InstanceRecord | None:
    """Return the record of an ACTIVE instance in STOPPING; None if already stopped or stopping."""
    return _mark(instance, InstanceStatus.STOPPING)


def start(instance: InstanceRecord) -> InstanceRecord | None:
    """Return the record of a SHUTOFF instance in STARTING; None if already running or starting."""
    return _mark(instance, InstanceStatus.STARTING)


def _mark(instance: InstanceRecord, status: InstanceStatus) -> InstanceRecord | None:
    if instance.status in (status, DONE[status]):
        return None
    if instance.status != ALLOWED[status]:
        raise errors.InstanceConflict(
            uuid=instance.uuid,
            why=f"it is {instance.shown_status}; it must be {ALLOWED[status]} to become {status}",
        )
    return set_numbered_step(instance, SagaStep.POWER, status=status)
