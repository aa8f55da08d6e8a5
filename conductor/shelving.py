# SPDX-License-Identifier: Apache-2.0
"""Requests to shelve, offload or unshelve instances: recorded here; the saga executes them."""

from collections.abc import Callable, Collection, Mapping, Sequence

from oslo_log import log

from conductor.requested_changes import RequestedChanges
from conductor.saga.offload import begin_offload
from conductor.saga.transitions import set_step
from conductor.store.interface import ConductorStore
from conductor.store.records import InstanceRecord, InstanceStatus, SagaStep
from rpcapi import errors
from rpcapi.validation.instances import check_uuids

LOG = log.getLogger(__name__)

OFFLOADED = (InstanceStatus.OFFLOADING, InstanceStatus.SHELVED_OFFLOADED)


class InstanceShelving:
    """Marks instances to be shelved, offloaded or unshelved.

    ``wake`` is called when there is work; ``max_instances`` limits the instances of one call. ``limits_of`` returns the
    limits of a project, as Admission has them.

    Each method takes ``project``, the only one whose instances may be changed; None is all. Each raises InvalidRequest
    or a subclass, such as CallerRefused, UnknownInstance, or InstanceConflict for an instance in another status, before
    any change; Conflict or StoreUnavailable when the caller must retry.
    """

    def __init__(
        self,
        store: ConductorStore,
        wake: Callable[[], None],
        max_instances: int,
        limits_of: Callable[[str], Mapping[str, int]],
    ) -> None:
        self._store = store
        self._max_instances = max_instances
        self._changes = RequestedChanges(store, wake, max_instances)
        self._limits_of = limits_of

    def shelve(self, uuids: Sequence[str], project: str | None = None) -> None:
        """Mark ACTIVE and SHUTOFF instances to be shelved; those that are shelved stay unchanged."""
        self._changes.apply(uuids, shelve, "shelve_instances", project)
        LOG.info("Recorded that %d instances are to be shelved", len(uuids))

    def offload(self, uuids: Sequence[str], project: str | None = None) -> None:
        """Mark SHELVED instances to be offloaded; those that are offloaded stay unchanged."""
        self._changes.apply(uuids, offload, "offload_instances", project)
        LOG.info("Recorded that %d instances are to be offloaded", len(uuids))

    def unshelve(self, uuids: Sequence[str], project: str | None = None) -> None:
        """Mark SHELVED instances to be started on their hosts, and SHELVED_OFFLOADED ones to be built anew.

        Those that run or are being unshelved stay unchanged. Raises QuotaExceeded where a project has no quota left for
        all of its offloaded ones; then nothing is changed.
        """
        check_uuids(uuids, self._max_instances)
        records = self._store.get(uuids)
        requests = self._store.requests(sorted({record.request for record in records.values()}))
        limits = {name: self._limits_of(name) for name in {request.project for request in requests.values()}}
        self._changes.apply(uuids, unshelve, "unshelve_instances", project, limits)
        LOG.info("Recorded that %d instances are to be unshelved", len(uuids))


def shelve(instance: InstanceRecord) -> InstanceRecord | None:
    """Return the record in SHELVING, None where it is shelved; raises InstanceConflict."""
    if instance.status in (InstanceStatus.SHELVING, InstanceStatus.SHELVED, *OFFLOADED):
        return None
    _check_status(instance, (InstanceStatus.ACTIVE, InstanceStatus.SHUTOFF), "be shelved")
    return set_step(instance, SagaStep.POWER, status=InstanceStatus.SHELVING)


def offload(instance: InstanceRecord) -> InstanceRecord | None:
    """Return the record in OFFLOADING, None where it is offloaded; raises InstanceConflict."""
    if instance.status in OFFLOADED:
        return None
    _check_status(instance, (InstanceStatus.SHELVED,), "be offloaded")
    return begin_offload(instance)


def unshelve(instance: InstanceRecord) -> InstanceRecord | None:
    """Return the record that starts or builds it again, None where that was done; raises InstanceConflict.

    An offloaded instance begins its next attempt with an empty history, so that it has as many attempts as a new one.
    """
    is_under_way = instance.is_shelved and instance.status in (InstanceStatus.BUILDING, InstanceStatus.STARTING)
    if is_under_way or instance.status in (InstanceStatus.UNSHELVING, InstanceStatus.ACTIVE):
        return None
    _check_status(instance, (InstanceStatus.SHELVED, InstanceStatus.SHELVED_OFFLOADED), "be unshelved")
    if instance.status == InstanceStatus.SHELVED:
        return set_step(instance, SagaStep.POWER, status=InstanceStatus.STARTING)
    return set_step(
        instance,
        SagaStep.UNSHELVE,
        status=InstanceStatus.UNSHELVING,
        attempt=instance.attempt + 1,
        history=[],
        alternates=(),
        allocations=None,
        reason=None,
    )


def _check_status(instance: InstanceRecord, allowed: Collection[InstanceStatus], what: str) -> None:
    if instance.status not in allowed:
        raise errors.InstanceConflict(
            uuid=instance.uuid, why=f"it is {instance.shown_status}; only one that is {' or '.join(allowed)} can {what}"
        )
