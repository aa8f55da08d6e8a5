# SPDX-License-Identifier: Apache-2.0
"""Requests to reboot or rebuild instances on their hosts: recorded here; the saga executes them."""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from conductor.ownership import check_project
from conductor.parts import ConductorParts
from conductor.requests import evacuation, requested_changes
from conductor.requests.evacuation import is_lost
from conductor.requests.rebuild_images import specs_with_image
from conductor.saga.transitions import set_step
from conductor.store.records import InstanceRecord, InstanceStatus, SagaStep
from rpcapi import errors
from rpcapi.context import RequestContext
from rpcapi.validation.instances import check_uuids

# By the status that is recorded: those in which a request is accepted, as in Nova. ERROR: only on a host.
ALLOWED = {
    InstanceStatus.REBOOT: (InstanceStatus.ACTIVE,),
    InstanceStatus.HARD_REBOOT: (
        *(InstanceStatus.ACTIVE, InstanceStatus.SHUTOFF, InstanceStatus.ERROR, InstanceStatus.REBOOT),
    ),
    InstanceStatus.REBUILD: (InstanceStatus.ACTIVE, InstanceStatus.SHUTOFF, InstanceStatus.ERROR),
}


def reboot(parts: ConductorParts, uuids: Sequence[str], *, hard: bool, project: str | None = None) -> None:
    """Mark instances to be rebooted: ACTIVE ones; with ``hard`` also SHUTOFF ones, and ERROR ones on a host.

    Those that are being rebooted in that way stay unchanged; a hard reboot replaces another one. ``project`` is the
    only one whose instances may be rebooted; None is all. Raises InvalidRequest or a subclass, such as
    CallerRefused, UnknownInstance, or InstanceConflict for one in another status, before any change; Conflict or
    StoreUnavailable when the caller must retry.
    """
    status = InstanceStatus.HARD_REBOOT if hard else InstanceStatus.REBOOT
    requested_changes.apply(
        parts, uuids, lambda record: mark(record, status, parts.clock()), "reboot_instances", project
    )


def rebuild(
    parts: ConductorParts,
    ctxt: RequestContext,
    uuids: Sequence[str],
    project: str | None = None,
    image: Mapping[str, Any] | None = None,
) -> None:
    """Mark ACTIVE and SHUTOFF instances, and ERROR ones on a host, to get a new disk of their image.

    ``image``, as in RequestSpec, is their image from then on; their hosts must be able to run it. Those in ERROR
    whose host is gone are evacuated; those that are being rebuilt stay unchanged, but must not get another image
    meanwhile. As ``reboot``, as specs_with_image, and as evacuation.plan for those that are evacuated.
    """
    check_uuids(uuids, parts.max_instances)
    records = parts.store.get(uuids)
    check_project(parts.store, records.values(), project, "rebuild_instances")
    migrations = {record.uuid: str(uuid.uuid4()) for record in records.values() if is_lost(record)}
    for record in records.values():
        if record.uuid not in migrations:
            mark(record, InstanceStatus.REBUILD, 1)  # refused before hosts are asked
    specs = {} if image is None else specs_with_image(parts, ctxt, _without_host(records.values(), migrations), image)
    evacuate = evacuation.plan(parts, ctxt, list(migrations), migrations) if migrations else None

    def change(record: InstanceRecord) -> InstanceRecord | None:
        if evacuate is not None and record.uuid in migrations and is_lost(record):
            marked = evacuate(record)
        else:
            marked = mark(record, InstanceStatus.REBUILD, parts.clock())
        if record.uuid not in specs:
            return marked
        if marked is None and record.spec != specs[record.uuid]:
            raise errors.InstanceConflict(uuid=record.uuid, why="it is being rebuilt already; retry")
        return marked and replace(marked, spec=specs[record.uuid])

    requested_changes.apply(parts, uuids, change, "rebuild_instances", project)


def _without_host(records: Iterable[InstanceRecord], uuids: Collection[str]) -> list[InstanceRecord]:
    """Return the records, those of the instances ``uuids`` without the host that no longer matters."""
    return [replace(record, host=None) if record.uuid in uuids else record for record in records]


def mark(instance: InstanceRecord, status: InstanceStatus, now_ms: int) -> InstanceRecord | None:
    """Return the record in ``status`` with the number of its operation, None where it has that status already.

    Numbers are times, so that a store that forgot an operation does not use its number again. Raises InstanceConflict.
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
