# SPDX-License-Identifier: Apache-2.0
"""Deletion of instances: records the request to delete; the saga executes it."""

from collections.abc import Callable, Sequence

from oslo_log import log

from conductor.ownership import check_project
from conductor.saga.transitions import set_step
from conductor.store.interface import ConductorStore
from conductor.store.records import InstanceRecord, InstanceStatus, SagaStep
from rpcapi import errors
from rpcapi.validation.instances import check_uuids

LOG = log.getLogger(__name__)

MAX_WRITE_ATTEMPTS = 20  # optimistic writes of a record before the call fails with Conflict


class InstanceDeletion:
    """Marks instances for deletion.

    ``wake`` is called when there is work; ``max_instances`` limits the instances of one call.
    """

    def __init__(self, store: ConductorStore, wake: Callable[[], None], max_instances: int) -> None:
        self._store = store
        self._wake = wake
        self._max_instances = max_instances

    def delete(self, uuids: Sequence[str], project: str | None = None) -> None:
        """Mark instances in any state for deletion; deleted ones stay unchanged.

        ``project`` is the only one whose instances may be deleted; None is all. Raises InvalidRequest or a subclass,
        such as CallerRefused, or UnknownInstance, before any change; Conflict or StoreUnavailable when the caller must
        retry.
        """
        check_uuids(uuids, self._max_instances)
        remaining = list(uuids)
        for _ in range(MAX_WRITE_ATTEMPTS):
            records = self._store.get(remaining)
            for uuid in remaining:
                if uuid not in records:
                    raise errors.UnknownInstance(uuid=uuid)
            check_project(self._store, records.values(), project, "delete_instances")
            updates = [
                mark_for_deletion(record) for record in records.values() if record.status != InstanceStatus.DELETED
            ]
            remaining = list(self._store.write_without_lease(updates, wake=True).stale) if updates else []
            if not remaining:
                LOG.info("Recorded that %d instances are to be deleted", len(uuids))
                self._wake()
                return
        raise errors.Conflict(
            what=f"The deletion of {remaining[0]}", why="too many concurrent updates of its record; retry"
        )


def mark_for_deletion(instance: InstanceRecord) -> InstanceRecord:
    """Return the record with status DELETING and the step that ends its claim or stops its guest."""
    if instance.status == InstanceStatus.DELETING:
        return set_step(instance, instance.step)
    # An ACTIVE instance runs on its host. For any other status only the claims show whether the host has it.
    step = SagaStep.TERMINATE if instance.status == InstanceStatus.ACTIVE else SagaStep.ABORT
    return set_step(instance, step, status=InstanceStatus.DELETING)
