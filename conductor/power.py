# SPDX-License-Identifier: Apache-2.0
"""Requests to stop or start instances: recorded here; the saga executes them."""

from collections.abc import Callable, Sequence

from oslo_log import log

from conductor.requested_changes import RequestedChanges
from conductor.saga.transitions import set_numbered_step
from conductor.store.interface import ConductorStore
from conductor.store.records import InstanceRecord, InstanceStatus, SagaStep
from rpcapi import errors

LOG = log.getLogger(__name__)

# By the status that is recorded: the one in which a request is accepted, and those in which it was made already.
ALLOWED = {InstanceStatus.STOPPING: InstanceStatus.ACTIVE, InstanceStatus.STARTING: InstanceStatus.SHUTOFF}
DONE = {InstanceStatus.STOPPING: InstanceStatus.SHUTOFF, InstanceStatus.STARTING: InstanceStatus.ACTIVE}


class InstancePower:
    """Marks instances to be stopped or started.

    ``wake`` is called when there is work; ``max_instances`` limits the instances of one call.
    """

    def __init__(self, store: ConductorStore, wake: Callable[[], None], max_instances: int) -> None:
        self._changes = RequestedChanges(store, wake, max_instances)

    def stop(self, uuids: Sequence[str], project: str | None = None) -> None:
        """Mark ACTIVE instances to be stopped; those that are stopped or being stopped stay unchanged.

        ``project`` is the only one whose instances may be stopped; None is all. Raises InvalidRequest or a subclass,
        such as CallerRefused, UnknownInstance, or InstanceConflict for one in another status, before any change;
        Conflict or StoreUnavailable when the caller must retry.
        """
        self._mark(uuids, InstanceStatus.STOPPING, project, "stop_instances")

    def start(self, uuids: Sequence[str], project: str | None = None) -> None:
        """Mark SHUTOFF instances to be started; those that run or are being started stay unchanged. As ``stop``."""
        self._mark(uuids, InstanceStatus.STARTING, project, "start_instances")

    def _mark(self, uuids: Sequence[str], status: InstanceStatus, project: str | None, method: str) -> None:
        self._changes.apply(uuids, lambda record: mark(record, status), method, project)
        LOG.info("Recorded that %d instances are %s", len(uuids), status)


def mark(instance: InstanceRecord, status: InstanceStatus) -> InstanceRecord | None:
    """Return the record in ``status``, None where that was done already; raises InstanceConflict."""
    if instance.status in (status, DONE[status]):
        return None
    if instance.status != ALLOWED[status]:
        raise errors.InstanceConflict(
            uuid=instance.uuid,
            why=f"it is {instance.shown_status}; only one that is {ALLOWED[status]} becomes {status}",
        )
    return set_numbered_step(instance, SagaStep.POWER, status=status)
