# SPDX-License-Identifier: Apache-2.0
"""Requests to shelve, offload or unshelve instances; the saga executes them."""

from collections.abc import Collection, Sequence

from conductor.collaborators import Conductor
from conductor.requests import requested_changes
from conductor.requests.target_checks import check_target
from conductor.saga.destinations import unshelve_spec
from conductor.saga.resting import begin_offload
from conductor.saga.step_context import instance_spec
from conductor.saga.transitions import set_numbered_step, set_step
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi import errors
from rpcapi.context import RequestContext
from rpcapi.resources import names
from rpcapi.resources.statuses import InstanceStatus
from rpcapi.validation.instances import check_uuids

OFFLOADED = (InstanceStatus.OFFLOADING, InstanceStatus.SHELVED_OFFLOADED)


def unshelve_instances(
    conductor: Conductor,
    ctxt: RequestContext,
    uuids: Sequence[str],
    host: str | None = None,
    project: str | None = None,
) -> None:
    """Mark SHELVED instances to start on their hosts, and SHELVED_OFFLOADED instances for a new build.

    Only operators may set ``host``, the only host that may take the offloaded instances. Raises, before any change,
    InstanceConflict if ``host`` is set and an instance is SHELVED, UnknownHost or NoValidHost for ``host``,
    QuotaExceeded, and the errors of requested_changes.apply.
    """
    check_uuids(uuids, conductor.max_instances)
    if host is not None and project is not None:
        raise errors.CallerRefused(
            service="conductor", method="unshelve_instances", caller=f"project {project}", why="it names a host"
        )
    target = None if host is None else names.canonical(host)
    records = conductor.store.get(uuids)
    requests = conductor.store.requests(sorted({record.request for record in records.values()}))
    limits = {name: conductor.limits.of_project(name) for name in {request.project for request in requests.values()}}

    def change(record: InstanceRecord) -> InstanceRecord | None:
        return unshelve(record, target)

    if target is not None:
        unshelved = [record for record in map(change, records.values()) if record]
        specs = [
            unshelve_spec(instance_spec(record, requests[record.request]), target, record.allocations)
            for record in unshelved
        ]
        check_target(conductor.clients, ctxt, target, specs)
    requested_changes.apply(conductor, uuids, change, "unshelve_instances", project, limits=limits)


def shelve(instance: InstanceRecord) -> InstanceRecord | None:
    """Return the record in SHELVING; None if already shelved. Raises InstanceConflict."""
    if instance.status in (InstanceStatus.SHELVING, InstanceStatus.SHELVED, *OFFLOADED):
        return None
    _check_status(instance, (InstanceStatus.ACTIVE, InstanceStatus.SHUTOFF), "be shelved")
    return set_numbered_step(instance, SagaStep.POWER, status=InstanceStatus.SHELVING)


def offload(instance: InstanceRecord) -> InstanceRecord | None:
    """Return the record in OFFLOADING; None if already offloaded. Raises InstanceConflict."""
    if instance.status in OFFLOADED:
        return None
    _check_status(instance, (InstanceStatus.SHELVED,), "be offloaded")
    return begin_offload(instance)


def unshelve(instance: InstanceRecord, target: str | None = None) -> InstanceRecord | None:
    """Return the record that starts or builds the instance; None if already requested.

    An offloaded instance has as many attempts as a new one. If set, only ``target`` may take it. Raises
    InstanceConflict, also for a ``target`` while the instance is on a host.
    """
    is_under_way = instance.is_shelved and instance.status in (InstanceStatus.BUILDING, InstanceStatus.STARTING)
    if is_under_way or instance.status in (InstanceStatus.UNSHELVING, InstanceStatus.ACTIVE):
        return None
    if target is not None:
        _check_status(instance, (InstanceStatus.SHELVED_OFFLOADED,), "be unshelved on a host of choice")
    _check_status(instance, (InstanceStatus.SHELVED, InstanceStatus.SHELVED_OFFLOADED), "be unshelved")
    if instance.status == InstanceStatus.SHELVED:
        return set_numbered_step(instance, SagaStep.POWER, status=InstanceStatus.STARTING)
    return set_step(
        instance,
        SagaStep.UNSHELVE,
        status=InstanceStatus.UNSHELVING,
        attempt=instance.next_attempt,
        history=[],
        alternates=(),
        reason=None,
        target=target,
    )


def _check_status(instance: InstanceRecord, allowed: Collection[InstanceStatus], what: str) -> None:
    if instance.status not in allowed:
        raise errors.InstanceConflict(
            uuid=instance.uuid, why=f"it is {instance.shown_status}; it must be {' or '.join(allowed)} to {what}"
        )
