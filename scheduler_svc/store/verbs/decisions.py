# SPDX-License-Identifier: Apache-2.0
"""The bounded record of decisions."""

import copy
from collections.abc import Mapping
from typing import Any

from rpcapi import errors
from scheduler_svc.store.records import SCHEMA
from scheduler_svc.store.validation import refuse
from scheduler_svc.store.verbs.partition import Partition


def record(partition: Partition, request_id: str, document: Mapping[str, Any], most: int, now: int) -> None:
    """Append a decision; the oldest beyond ``most`` are dropped."""
    partition.record(request_id, {"schema": SCHEMA, "at_ms": now, **copy.deepcopy(document)}, most)


def find(partition: Partition, request_id: str) -> dict[str, Any]:
    """Return the newest decision of a request; raises UnknownDecision."""
    found = partition.decision_of(request_id)
    if found is None:
        raise errors.UnknownDecision(request_id=request_id)
    return copy.deepcopy(found)


def page(partition: Partition, marker: str | None, limit: int) -> tuple[list[tuple[str, dict[str, Any]]], str | None]:
    """Return a page of (request id, document), oldest first, and the next marker; raises InvalidRequest."""
    if marker is not None and not (marker.isascii() and marker.isdecimal() and len(marker) < 19):
        raise refuse(f"{marker[:60]!r} marks no decision; use the marker that the page before it gave")
    found = partition.decisions_after(int(marker or 0), limit + 1)
    shown = [(request_id, copy.deepcopy(document)) for _number, request_id, document in found[:limit]]
    return shown, str(found[limit - 1][0]) if len(found) > limit else None
