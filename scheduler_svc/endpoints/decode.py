# SPDX-License-Identifier: Apache-2.0
"""Conversion of bus objects to domain records."""

from collections.abc import Mapping, Sequence
from typing import Any

from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.resources import names
from rpcapi.resources.claims import ClaimRole, ClaimState, GroupPolicy, MoveEnd
from rpcapi.validation.moves import read_destination, read_move
from scheduler_svc.core.records import Candidate, ClaimGroup, ClaimRef, Intent
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.scheduling import requests
from scheduler_svc.store.records import RunningClaim

_OWNER = ("type", "project", "user", "request_id")


def request(ctxt: RequestContext, spec: objects.RequestSpec) -> SchedulingRequest:
    """Convert a spec. Raises the errors of check_spec."""
    return requests.from_spec(spec, ctxt.request_id, ctxt.project_id or "", ctxt.user_id or "")


def intents(claim_intents: objects.ClaimIntents) -> list[Intent]:
    """Convert intents; their candidates are resource names."""
    rows = zip(
        *(claim_intents.consumers, claim_intents.attempts, claim_intents.candidates, claim_intents.replaces),
        moves(claim_intents.moves, len(claim_intents.consumers)),
        strict=True,
    )
    return [
        Intent(
            consumer,
            attempt,
            [Candidate(names.canonical(name)) for name in candidates],
            replaces,
            migration=move.migration,
            source_attempt=move.source_attempt,
        )
        for consumer, attempt, candidates, replaces, move in rows
    ]


def moves(documents: Sequence[Mapping[str, Any] | None], count: int) -> list[MoveEnd]:
    """Convert the moves of ``count`` instances; () if none moves. Raises InvalidRequest and InvalidName."""
    if not isinstance(documents, Sequence) or len(documents) not in (0, count):
        raise errors.InvalidRequest(why=f"a call for {count} instances needs as many moves, got {str(documents)[:80]}")
    return [read_destination(document) for document in documents or [None] * count]


def refs(claim_refs: objects.ClaimRefs) -> list[ClaimRef]:
    return [ClaimRef(consumer, attempt) for consumer, attempt in claim_refs.pairs()]


def running(report: objects.AuditReport) -> list[RunningClaim]:
    return [
        _running(consumer, attempt, state, name, holds)
        for consumer, attempt, state, name, *holds in zip(
            report.consumers,
            report.attempts,
            report.states,
            report.names,
            report.allocations,
            report.owners,
            strict=True,
        )
    ]


def _running(consumer: str, attempt: int, state: str, name: str, holds: Sequence[Mapping[str, Any]]) -> RunningClaim:
    allocations, owner = holds
    if state not in (ClaimState.PREPARED, ClaimState.CONFIRMED):
        raise errors.MalformedObject(name="AuditReport", why=f"unknown claim state {state[:40]!r}")
    missing = [key for key in _OWNER if not isinstance(owner.get(key), str)]
    if missing:
        raise errors.MalformedObject(name="AuditReport", why=f"the owner of {consumer} lacks {', '.join(missing)}")
    move = _end_of_move(consumer, owner)
    return RunningClaim(
        consumer=consumer,
        attempt=attempt,
        confirmed=state == ClaimState.CONFIRMED,
        host=names.canonical(name),
        allocations=allocations,
        role=move.role,
        migration=move.migration,
        source_attempt=move.source_attempt,
        group=_group(owner),
        **{key: owner[key] for key in _OWNER},
    )


def _group(owner: Mapping[str, Any]) -> ClaimGroup | None:
    if owner.get("group_id") is None:
        return None
    try:
        policy, max_per_host = GroupPolicy(str(owner.get("group_policy"))), int(owner.get("group_max_per_host", 1))
        return ClaimGroup(names.canonical(owner["group_id"]), policy, max_per_host)
    except (ValueError, TypeError) as error:
        raise errors.MalformedObject(name="server group", why=str(error)) from error


def _end_of_move(consumer: str, owner: Mapping[str, Any]) -> MoveEnd:
    """Return the move end that an agent reports for its claim. Raises MalformedObject."""
    try:
        move = read_move(owner if "role" in owner or "migration" in owner else None)
    except errors.InvalidRequest as error:
        raise errors.MalformedObject(name="AuditReport", why=f"{consumer}: {error.sentence}") from error
    if move.migration is not None and move.role is ClaimRole.ONLY:
        raise errors.MalformedObject(name="AuditReport", why=f"{consumer} has a migration, and its role is {move.role}")
    return move
