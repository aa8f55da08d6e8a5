# SPDX-License-Identifier: Apache-2.0
"""Polling of servers until they reach an end status."""

import time
from collections.abc import Collection, Sequence
from typing import Any

from rpcapi import errors
from rpcapi.admin import Session
from rpcapi.resources.statuses import InstanceStatus

CHUNK = 500  # instances per call
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 2.0
# Statuses without a change in progress.
END_STATUSES = frozenset(
    {
        InstanceStatus.ACTIVE,
        InstanceStatus.SHUTOFF,
        InstanceStatus.SHELVED,
        InstanceStatus.SHELVED_OFFLOADED,
        InstanceStatus.VERIFY_RESIZE,
        InstanceStatus.ERROR,
        InstanceStatus.DELETING,
        InstanceStatus.DELETED,
    }
)


def fetch_instances(session: Session, uuids: Sequence[str]) -> list[Any]:
    """Return servers' records in the order of ``uuids``. Raises UnknownInstance."""
    instances: list[Any] = []
    for start in range(0, len(uuids), CHUNK):
        instances += session.call(session.conductor.get_instances, list(uuids[start : start + CHUNK])).instances
    return instances


def wait_for_status(
    session: Session, uuids: Sequence[str], end_statuses: Collection[str], timeout: float, bar: Any
) -> dict[str, Any]:
    """Poll until every status is in ``end_statuses``, at most ``timeout`` seconds; return records by uuid.

    Omits servers without a record. Raises one of NO_ANSWER if no call was answered, or calls fail before the timeout.
    """
    from rpcapi.admin.session import NO_ANSWER  # noqa: PLC0415 - lazy, see rpcapi.admin

    deadline = time.monotonic() + timeout
    pause = FIRST_PAUSE
    instances: dict[str, Any] = {}
    pending = list(uuids)
    while True:
        try:
            with session.limit_calls(deadline - time.monotonic()):
                latest = {instance.uuid: instance for instance in existing_instances(session, pending)}
        except NO_ANSWER:
            if not instances or time.monotonic() + LONGEST_PAUSE < deadline:
                raise
            return instances
        instances = {uuid: instances[uuid] for uuid in instances if uuid not in pending} | latest
        unfinished = [uuid for uuid in latest if latest[uuid].status not in end_statuses]
        bar.update(len(pending) - len(unfinished))
        pending = unfinished
        if not pending or time.monotonic() + pause > deadline:
            return instances
        time.sleep(pause)
        pause = min(pause * 1.5, LONGEST_PAUSE)


def existing_instances(session: Session, uuids: Sequence[str]) -> list[Any]:
    try:
        return fetch_instances(session, uuids)
    except errors.UnknownInstance:
        if len(uuids) == 1:
            return []
        return [instance for uuid in uuids for instance in existing_instances(session, [uuid])]
