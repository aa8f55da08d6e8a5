# SPDX-License-Identifier: Apache-2.0
"""Verbs on the decision record."""

import copy
from collections.abc import Mapping
from typing import Any

from rpcapi import errors
from rpcapi.validation.text import is_sequence
from scheduler_svc.store.records import SCHEMA
from scheduler_svc.store.validation import refuse
from scheduler_svc.store.verbs.whole_partition import WholePartition


def record(partition: WholePartition, now: int, request_id: str, document: Mapping[str, Any], most: int) -> None:
    partition.record(request_id, {"schema": SCHEMA, "at_ms": now + partition.lead_ms, **copy.deepcopy(document)}, most)


def find(partition: WholePartition, request_id: str, project: str | None) -> dict[str, Any]:
    document = (partition.decision_of(request_id, project) if project else None) or partition.decision_of(request_id)
    if document is None:
        raise errors.UnknownDecision(request_id=request_id)
    return document


def page(
    partition: WholePartition, marker: str | None, limit: int
) -> tuple[list[tuple[str, dict[str, Any]]], str | None]:
    if marker is not None and not is_sequence(marker):
        raise refuse(f"{marker[:60]!r} is not a decision marker; use the marker that the previous page returned")
    rows = partition.decisions_after(int(marker or 0), limit + 1)
    shown = [(request_id, document) for _number, request_id, document in rows[:limit]]
    return shown, str(rows[limit - 1][0]) if len(rows) > limit else None
