# SPDX-License-Identifier: Apache-2.0
"""A batch as the claim script's arguments, and the script's answer as records."""

import json
from collections.abc import Iterator
from typing import Any

from rpcapi.model.claims import Answer, Verdict
from scheduler_svc.store import documents
from scheduler_svc.store.records import SCHEMA, Batch, BatchAnswer, Candidate, Prepared

_FIELDS = 6  # values that the script answers for one intent


def arguments(batch: Batch, most_decisions: int) -> list[Any]:
    """Return the script's arguments after the log length; the order is told in prepare.lua."""
    record = "" if batch.record is None else documents.encode({**batch.record, "schema": SCHEMA})
    group = "" if batch.group is None else documents.encode(documents.encode_group(batch.group))
    values: list[Any] = [
        batch.epoch,
        batch.position,
        batch.ttl_ms,
        batch.alternates,
        _common(batch),
        documents.encode(batch.resources) if batch.resources else "",
        group,
        record,
        batch.request_id,
        most_decisions,
    ]
    for intent in batch.intents:
        values += [intent.consumer, intent.attempt, intent.replaces or 0, intent.near, len(intent.candidates)]
        values += map(_candidate, intent.candidates)
    return values


def answer(batch: Batch, raw: list[Any]) -> BatchAnswer:
    """Read the script's answer."""
    accepted, current, epoch, position, used = raw[:5]
    return BatchAnswer(
        bool(accepted), bool(current), int(epoch), int(position), list(_prepared(batch, raw)), json.loads(used)
    )


def _prepared(batch: Batch, raw: list[Any]) -> Iterator[Prepared]:
    for index, intent in enumerate(batch.intents):
        at = 5 + index * _FIELDS
        said, host, alternates, deadline, verdicts, held = raw[at : at + _FIELDS]
        yield Prepared(
            intent.consumer,
            intent.attempt,
            Answer(said),
            host or None,
            tuple(alternates.split()),
            int(deadline) if deadline else None,
            tuple(Verdict(verdict) for verdict in verdicts.split()),
            batch.told(host, json.loads(held)) if held else None,
        )


def _common(batch: Batch) -> str:
    group = None if batch.group is None else documents.encode_group(batch.group)
    members = {
        "type": batch.consumer_type,
        "project": batch.project,
        "user": batch.user,
        "request_id": batch.request_id,
        "group": group,
    }
    return "," + documents.encode(members)[1:-1]


def _candidate(candidate: Candidate) -> str:
    words = [candidate.host]
    if candidate.seen:
        words.append(str(candidate.seen))
    if candidate.allocations is not None:
        words.append(documents.encode(candidate.allocations))
    return " ".join(words)
