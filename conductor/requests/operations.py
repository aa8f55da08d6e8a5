# SPDX-License-Identifier: Apache-2.0
"""Requests to reboot or rebuild instances on their hosts; the saga executes them."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from conductor.collaborators import Conductor
from conductor.lookup import check_project
from conductor.requests import evacuation, requested_changes
from conductor.requests.evacuation import is_lost
from conductor.requests.rebuild_images import specs_with_image
from conductor.saga.transitions import set_step
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi import errors
from rpcapi.context import RequestContext
from rpcapi.resources.statuses import InstanceStatus
from rpcapi.validation.instances import check_uuids

# {recorded status: statuses in which the request is accepted}, like Nova. ERROR only if the instance is on a host.
ALLOWED = {
    InstanceStatus.REBOOT: (InstanceStatus.ACTIVE,),
    InstanceStatus.HARD_REBOOT: (
        *(InstanceStatus.ACTIVE, InstanceStatus.SHUTOFF, InstanceStatus.ERROR, InstanceStatus.REBOOT),
    ),
    InstanceStatus.REBUILD: (InstanceStatus.ACTIVE, InstanceStatus.SHUTOFF, InstanceStatus.ERROR),
}


def reboot(conductor: Conductor, uuids: Sequence[str], *, hard: bool, project: str | None = None) -> None:
    """Mark ACTIVE instances for reboot; if ``hard``, also SHUTOFF instances, and ERROR instances on a host.

    A hard reboot replaces a soft reboot in progress. With ``project``, instances of other projects are refused. Raises,
    before any change, InvalidRequest or a subclass such as CallerRefused, UnknownInstance and InstanceConflict;
    Conflict or StoreUnavailable if the caller must retry.
    """
    status = InstanceStatus.HARD_REBOOT if hard else InstanceStatus.REBOOT
    requested_changes.apply(
        conductor, uuids, lambda record: mark(record, status, conductor.clock()), "reboot_instances", project
    )


def rebuild(
    conductor: Conductor,
    ctxt: RequestContext,
    uuids: Sequence[str],
    project: str | None = None,
    image: Mapping[str, Any] | None = None,
) -> None:
    """Mark ACTIVE and SHUTOFF instances, and ERROR instances on a host, for a new disk.

    ERROR instances without a host are evacuated. ``image``, as in RequestSpec, replaces the image permanently; an
    instance already being rebuilt with a different image is refused. Raises the errors of ``reboot``,
    ``specs_with_image`` and ``evacuation.plan``.
    """
    check_uuids(uuids, conductor.max_instances)
    records = conductor.store.get(uuids)
    check_project(conductor.store, records.values(), project, "rebuild_instances")
    migrations = {record.uuid: str(uuid.uuid4()) for record in records.values() if is_lost(record)}
    for record in records.values():
        if record.uuid not in migrations:
            mark(record, InstanceStatus.REBUILD, 1)  # refuse before any call to a host
    located = [replace(record, host=None) if record.uuid in migrations else record for record in records.values()]
    specs = {} if image is None else specs_with_image(conductor, ctxt, located, image)
    evacuate = evacuation.plan(conductor, ctxt, list(migrations), migrations) if migrations else None

    def change(record: InstanceRecord) -> InstanceRecord | None:
        if evacuate is not None and record.uuid in migrations and is_lost(record):
            marked = evacuate(record)
        else:
            marked = mark(record, InstanceStatus.REBUILD, conductor.clock())
        if record.uuid not in specs or record.spec == specs[record.uuid]:
            return marked
        if marked is None:
            raise errors.InstanceConflict(uuid=record.uuid, why="it is already being rebuilt; retry")
        if record.spec != records[record.uuid].spec:  # the new spec has the former flavor or image
            raise errors.InstanceConflict(uuid=record.uuid, why="it was resized or rebuilt at the same time; retry")
        return replace(marked, spec=specs[record.uuid])

    requested_changes.apply(conductor, uuids, change, "rebuild_instances", project)


def mark(instance: InstanceRecord, status: InstanceStatus, now_ms: int) -> InstanceRecord | None:
    """Return the record in ``status`` with a new operation number; None if it has that status.

    Numbers are times, so that a store that lost an operation does not reuse its number. Raises InstanceConflict.
    """
    if instance.shown_status == status:
        return None
    allowed = ALLOWED[status]
    if instance.status not in allowed:
        raise errors.InstanceConflict(
            uuid=instance.uuid, why=f"it is {instance.shown_status}; {status} is possible from {', '.join(allowed)}"
        )
    is_on_host = instance.step == SagaStep.DONE and instance.host is not None
    if instance.status == InstanceStatus.ERROR and (not is_on_host or instance.has_ended(instance.attempt)):
        raise errors.InstanceConflict(uuid=instance.uuid, why="it is in ERROR and on no host; evacuate or delete it")
    was_stopped = status == InstanceStatus.REBUILD and (
        instance.status == InstanceStatus.SHUTOFF or instance.was_stopped
    )
    operation = max(now_ms, instance.operation + 1)
    return set_step(instance, SagaStep.POWER, status=status, operation=operation, was_stopped=was_stopped)
