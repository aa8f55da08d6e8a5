# SPDX-License-Identifier: Apache-2.0
"""Requests to delete instances in any state; the saga executes them."""

from conductor.saga.transitions import set_step
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi.resources.statuses import ON_HOST, InstanceStatus


def delete(instance: InstanceRecord) -> InstanceRecord | None:
    """Return the record in DELETING; None if DELETED. In a move, the destination's claim ends first."""
    if instance.status == InstanceStatus.DELETED:
        return None
    if instance.status == InstanceStatus.DELETING:
        return set_step(instance, instance.step)
    if instance.open_migration is not None and instance.step == SagaStep.BEGIN_MOVE:
        # Make the claim a source all the same, so that it no longer keeps the affinity group on its host.
        return set_step(instance, instance.step, status=InstanceStatus.DELETING)
    if instance.is_at_source or instance.step == SagaStep.END_MOVE:  # the destination has no claim
        return set_step(instance, SagaStep.END_SOURCE, status=InstanceStatus.DELETING)
    # Outside ON_HOST, only the claims show whether a host has the instance.
    step = SagaStep.TERMINATE if instance.status in ON_HOST else SagaStep.ABORT
    return set_step(instance, step, status=InstanceStatus.DELETING)
