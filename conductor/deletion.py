# SPDX-License-Identifier: Apache-2.0
"""Deletion of instances: records the request to delete; the saga executes it."""

from collections.abc import Callable, Sequence

from oslo_log import log

from conductor.requested_changes import RequestedChanges
from conductor.saga.transitions import set_step
from conductor.store.interface import ConductorStore
from conductor.store.records import ON_HOST, InstanceRecord, InstanceStatus, SagaStep

LOG = log.getLogger(__name__)


class InstanceDeletion:
    """Marks instances for deletion.

    ``wake`` is called when there is work; ``max_instances`` limits the instances of one call.
    """

    def __init__(self, store: ConductorStore, wake: Callable[[], None], max_instances: int) -> None:
        self._changes = RequestedChanges(store, wake, max_instances)

    def delete(self, uuids: Sequence[str], project: str | None = None) -> None:
        """Mark instances in any state for deletion; deleted ones stay unchanged.

        ``project`` is the only one whose instances may be deleted; None is all. Raises InvalidRequest or a subclass,
        such as CallerRefused, or UnknownInstance, before any change; Conflict or StoreUnavailable when the caller must
        retry.
        """
        self._changes.apply(
            uuids,
            lambda record: None if record.status == InstanceStatus.DELETED else mark_for_deletion(record),
            "delete_instances",
            project,
        )
        LOG.info("Recorded that %d instances are to be deleted", len(uuids))


def mark_for_deletion(instance: InstanceRecord) -> InstanceRecord:
    """Return the record with status DELETING and the step that ends its claim or stops its guest.

    One that moves ends its claim at the destination first, then that on the source.
    """
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
