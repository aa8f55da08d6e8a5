# SPDX-License-Identifier: Apache-2.0
"""The bounded record of decisions in memory."""

import copy
from collections.abc import Mapping
from itertools import islice
from typing import Any

from rpcapi import errors
from scheduler_svc.store.memory.partition import Partition
from scheduler_svc.store.records import SCHEMA
from scheduler_svc.store.validation import refuse


def record(partition: Partition, request_id: str, document: Mapping[str, Any], most: int, now: int) -> None:
    """Append a decision; the oldest beyond ``most`` are dropped."""
    number = max(partition.decisions, default=0) + 1
    partition.decisions[number] = (request_id, {"schema": SCHEMA, "at_ms": now, **copy.deepcopy(document)})
    partition.decided[request_id] = number
    for old in list(islice(partition.decisions, max(0, len(partition.decisions) - most))):
        forgotten, _document = partition.decisions.pop(old)
        if partition.decided[forgotten] == old:
            del partition.decided[forgotten]


def find(partition: Partition, request_id: str) -> dict[str, Any]:
    """Return the newest decision of a request; raises UnknownDecision."""
    if request_id not in partition.decided:
        raise errors.UnknownDecision(request_id=request_id)
    return copy.deepcopy(partition.decisions[partition.decided[request_id]][1])


def page(partition: Partition, marker: str | None, limit: int) -> tuple[list[tuple[str, dict[str, Any]]], str | None]:
    """Return a page of (request id, document), oldest first, and the next marker; raises InvalidRequest."""
    if marker is not None and not marker.isdecimal():
        raise refuse(f"{marker[:60]!r} marks no decision; use the marker that the page before it gave")
    after = int(marker or 0)
    found = list(islice((number for number in partition.decisions if number > after), limit + 1))
    taken = copy.deepcopy([partition.decisions[number] for number in found[:limit]])
    return taken, str(found[limit - 1]) if len(found) > limit else None
