# SPDX-License-Identifier: Apache-2.0
"""Verb ``prepare`` on Redis: encodes batches for prepare.lua, and decodes its answers."""

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import compress
from typing import Any

from rpcapi import errors
from rpcapi.resources.claims import Answer, Verdict
from scheduler_svc.core.records import (
    NO_MEMBERS,
    BatchAnswer,
    BatchOutcomes,
    Candidate,
    ClaimBatch,
    GroupMembers,
    IntentResult,
)
from scheduler_svc.store import documents, validation
from scheduler_svc.store.decisions import project_of
from scheduler_svc.store.records import SCHEMA
from scheduler_svc.store.redis import log
from scheduler_svc.store.redis.connect import RedisConnection

_FIELDS = 6  # values per intent in the script's answer


def prepare(connection: RedisConnection, batch: ClaimBatch, decision_bytes: int) -> BatchAnswer | None:
    """Run the script once. Returns None if it only expired claims, because more are overdue."""
    raw = connection.run("prepare", rows(batch), **arguments(batch, decision_bytes))
    return _observed(connection, batch, raw) if raw else None


def prepare_all(
    connection: RedisConnection,
    batches: Sequence[ClaimBatch],
    decision_bytes: int,
    log_after: int | None,
    prepare_alone: Callable[[ClaimBatch], BatchAnswer | errors.GanttError],
) -> BatchOutcomes:
    """Run the script for all batches, sent in one packet; call ``prepare_alone`` for each batch without an answer."""
    valid = [validation.is_valid_batch(batch) for batch in batches]
    calls = [(rows(batch), arguments(batch, decision_bytes)) for batch in compress(batches, valid)]
    read = [] if log_after is None else [log.read_command(connection.partition, log_after)]
    raws = iter(connection.run_each("prepare", calls, read))
    outcomes: list[BatchAnswer | errors.GanttError] = []
    for batch, is_valid in zip(batches, valid, strict=True):
        raw = next(raws) if is_valid else None
        # Run alone: invalid and failed batches, to raise their errors, and batches that only expired claims.
        if isinstance(raw, list) and raw:
            outcomes.append(_observed(connection, batch, raw))
        else:
            outcomes.append(prepare_alone(batch))
    return BatchOutcomes(outcomes, None if log_after is None else log.carried(log_after, next(raws), outcomes))


def _observed(connection: RedisConnection, batch: ClaimBatch, raw: list[Any]) -> BatchAnswer:
    decoded = answer(batch, raw)
    connection.identity.observe(decoded.epoch, decoded.position)
    return decoded


def arguments(batch: ClaimBatch, decision_bytes: int) -> dict[str, Any]:
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
        "decision_bytes": decision_bytes,
    }


def rows(batch: ClaimBatch) -> Iterator[Any]:
    for intent in batch.intents:
        yield from (intent.consumer, intent.attempt, intent.replaces or 0)
        yield from (intent.migration or "", intent.source_attempt or 0)
        yield from (intent.near, len(intent.candidates))
        yield from map(_candidate, intent.candidates)


def answer(batch: ClaimBatch, raw: list[Any]) -> BatchAnswer:
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
    words += [f"{sign}{limit}" for sign, limit in zip("<~", candidate.limits, strict=True) if limit is not None]
    if candidate.allocations is not None:
        words.append(documents.encode(candidate.allocations))
    return " ".join(words)
