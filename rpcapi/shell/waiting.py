# SPDX-License-Identifier: Apache-2.0
"""Waiting for servers to reach an end state."""

import time
from collections.abc import Collection, Sequence
from typing import Any

from rpcapi import errors
from rpcapi.shell.session import Session

CHUNK = 500  # instances of one question
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 2.0


def records(session: Session, uuids: Sequence[str]) -> list[Any]:
    """Return the servers' records, in that order; raises UnknownInstance."""
    found: list[Any] = []
    for start in range(0, len(uuids), CHUNK):
        found += session.ask(session.conductor.get_instances, list(uuids[start : start + CHUNK])).instances
    return found


def wait_for(session: Session, uuids: Sequence[str], ends: Collection[str], timeout: float, bar: Any) -> dict[str, Any]:
    """Poll until each server's status is one of ``ends``, at most ``timeout`` seconds; return records by uuid.

    Only those that are still under way are asked for again. One whose record is gone is left out of the answer.
    """
    until = time.monotonic() + timeout
    pause = FIRST_PAUSE
    known: dict[str, Any] = {}
    waiting = list(uuids)
    while True:
        seen = {instance.uuid: instance for instance in _still_recorded(session, waiting)}
        known = {uuid: known[uuid] for uuid in known if uuid not in waiting} | seen
        left = [uuid for uuid in seen if seen[uuid].status not in ends]
        bar.update(len(waiting) - len(left))
        waiting = left
        if not waiting or time.monotonic() + pause > until:
            return known
        time.sleep(pause)
        pause = min(pause * 1.5, LONGEST_PAUSE)


def _still_recorded(session: Session, uuids: Sequence[str]) -> list[Any]:
    try:
        return records(session, uuids)
    except errors.UnknownInstance:
        return [instance for uuid in uuids for instance in _one(session, uuid)]


def _one(session: Session, uuid: str) -> list[Any]:
    try:
        return records(session, [uuid])
    except errors.UnknownInstance:
        return []
