# SPDX-License-Identifier: Apache-2.0
"""Requests to delete instances in any state, as changes of their records; the saga executes them."""

from conductor.saga.transitions import set_step
from conductor.store.records import ON_HOST, InstanceRecord, InstanceStatus, SagaStep


def delete(instance: InstanceRecord) -> InstanceRecord | None:
    """Return the record with status DELETING and the step that ends its claim or stops its guest; None if DELETED.

    One that moves ends its claim at the destination first, then that on the source.
    """
    if instance.status == InstanceStatus.DELETED:
        return None
    if instance.status == InstanceStatus.DELETING:
        return set_step(instance, instance.step)
    if instance.open_migration is not None and instance.step == SagaStep.BEGIN_MOVE:
        # As a source it no longer keeps the others of its affinity group on its host.
        return set_step(instance, instance.step, status=InstanceStatus.DELETING)
    if instance.is_at_source or instance.step == SagaStep.END_MOVE:  # without a claim at a destination
        return set_step(instance, SagaStep.END_SOURCE, status=InstanceStatus.DELETING)
    # One that runs or is stopped is on its host. For any other status only the claims show whether the host has it.
    step = SagaStep.TERMINATE if instance.status in ON_HOST else SagaStep.ABORT
    return set_step(instance, step, status=InstanceStatus.DELETING)
