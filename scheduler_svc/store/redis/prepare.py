# SPDX-License-Identifier: Apache-2.0
"""Encoding of a batch as the claim script's arguments, and decoding of its answer."""

import json
from collections.abc import Iterator
from typing import Any

from rpcapi.resources.claims import Answer, Verdict
from scheduler_svc.core.records import NO_MEMBERS, BatchAnswer, Candidate, ClaimBatch, GroupMembers, IntentResult
from scheduler_svc.store import documents
from scheduler_svc.store.decisions import project_of
from scheduler_svc.store.records import SCHEMA

_FIELDS = 6  # values in the script's answer for one intent


def arguments(batch: ClaimBatch) -> dict[str, Any]:
    """Return the script's arguments about the whole batch, by the names that prepare.lua declares."""
    return {
        "epoch": batch.epoch,
        "position": batch.position,
        "ttl_ms": batch.ttl_ms,
        "alternates": batch.alternates,
        "common": _common(batch),
        "resources": documents.encode(batch.resources) if batch.resources else "",
        "group": "" if batch.group is None else documents.encode(documents.encode_group(batch.group)),
        "group_generation": batch.group_generation,
        "members": "" if batch.group_members == NO_MEMBERS else _members(batch.group_members),
        "record": "" if batch.record is None else documents.encode({**batch.record, "schema": SCHEMA}),
        "request_id": batch.request_id,
        "project": project_of(batch.record or {}),
        "fresh": int(batch.fresh),
        "final": int(batch.final),
    }


def rows(batch: ClaimBatch) -> Iterator[Any]:
    """Yield the script's arguments about each intent."""
    for intent in batch.intents:
        yield from (intent.consumer, intent.attempt, intent.replaces or 0, intent.near, len(intent.candidates))
        yield from map(_candidate, intent.candidates)


def answer(batch: ClaimBatch, raw: list[Any]) -> BatchAnswer:
    """Decode the script's answer."""
    accepted, current, epoch, position, used = raw[:5]
    return BatchAnswer(
        bool(accepted), bool(current), int(epoch), int(position), list(_prepared(batch, raw)), json.loads(used)
    )


def _prepared(batch: ClaimBatch, raw: list[Any]) -> Iterator[IntentResult]:
    for index, intent in enumerate(batch.intents):
        at = 5 + index * _FIELDS
        answer_name, host, alternates, deadline, verdicts, allocations = raw[at : at + _FIELDS]
        yield IntentResult(
            intent.consumer,
            intent.attempt,
            Answer(answer_name),
            host or None,
            tuple(alternates.split()),
            int(deadline) if deadline else None,
            tuple(Verdict(verdict) for verdict in verdicts.split()),
            batch.explicit_allocations(host, json.loads(allocations)) if allocations else None,
        )


def _common(batch: ClaimBatch) -> str:
    group = None if batch.group is None else documents.encode_group(batch.group)
    members = {
        "type": batch.consumer_type,
        "project": batch.project,
        "user": batch.user,
        "request_id": batch.request_id,
        "group": group,
    }
    return "," + documents.encode(members)[1:-1]


def _members(members: GroupMembers) -> str:
    return documents.encode({"consumers": list(members.consumers), "hosts": list(members.hosts)})


def _candidate(candidate: Candidate) -> str:
    words = [candidate.host]
    if candidate.sums_position:
        words.append(str(candidate.sums_position))
    if candidate.allocations is not None:
        words.append(documents.encode(candidate.allocations))
    return " ".join(words)
