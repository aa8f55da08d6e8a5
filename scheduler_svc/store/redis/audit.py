# SPDX-License-Identifier: Apache-2.0
"""The audit as several bounded scripts: the reported claims in batches, then all others, then the host is opened.

Verbs may run between two batches: a closed host is opened only by the last script, and on an open host a claim
confirmed meanwhile is at worst an orphan whose grace begins. The last script reads the reported claims again: one that
ended meanwhile is answered with its end.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from rpcapi import errors
from rpcapi.resources.claims import Answer, ClaimState
from scheduler_svc.core.records import ClaimResult
from scheduler_svc.store import documents, paging
from scheduler_svc.store.records import SCHEMA, AuditOutcome, RunningClaim
from scheduler_svc.store.redis.claims import claim_result
from scheduler_svc.store.redis.connect import RedisConnection, caller

SETTLE_BATCH = 100  # reported claims that one script settles
_LIVE = frozenset({Answer.CONFIRMED, Answer.PREPARED})


def audit(
    connection: RedisConnection,
    host: str,
    epoch: int,
    running: Sequence[RunningClaim],
    *,
    grace_ms: int,
    host_uuid: str | None,
) -> AuditOutcome:
    head = {"epoch": epoch, "host": host, "host_uuid": caller(host_uuid)}
    answers: list[ClaimResult] = []
    reasserted = 0
    for batch in paging.batches(running, SETTLE_BATCH):
        reply = connection.run("audit_settle", _settle_rows(batch), **head)
        if len(reply) == 1:
            return _no_audit(host, reply[0])
        answers += [claim_result(claim.ref, answer) for claim, answer in zip(batch, reply[1::2], strict=True)]
        reasserted += sum(reply[2::2])
    refs = [value for claim in running for value in (claim.consumer, claim.attempt)]
    reply = connection.run("audit_open", refs, grace_ms=grace_ms, **head)
    if len(reply) == 1:
        return _no_audit(host, reply[0])
    _epoch, position, released, orphans, again_ms, *ends = reply
    connection.identity.observe(epoch, position)
    current = [_current_answer(result, end) for result, end in zip(answers, ends, strict=True)]
    return AuditOutcome(epoch, current, reasserted, released, orphans, again_ms, position)


def _current_answer(result: ClaimResult, end: str) -> ClaimResult:
    """Return the answer when the host was opened, given the claim's ``end``, '' if it was live on the host then."""
    return replace(result, answer=Answer(end)) if result.answer in _LIVE and end else result


def _no_audit(host: str, epoch: int) -> AuditOutcome:
    """Return the outcome in another epoch; raises UnknownHost where the script answered 0: an unknown host."""
    if epoch == 0:
        raise errors.UnknownHost(name=host)
    return AuditOutcome(epoch, (), 0, 0, 0, 0)


def _settle_rows(batch: Sequence[RunningClaim]) -> Iterator[Any]:
    for claim in batch:
        yield from (claim.consumer, claim.attempt, int(claim.confirmed), _reasserted_claim(claim))


def _reasserted_claim(claim: RunningClaim) -> str:
    return documents.encode(
        {
            "schema": SCHEMA,
            "consumer": claim.consumer,
            "attempt": claim.attempt,
            "generation": 1,
            "type": claim.type,
            "project": claim.project,
            "user": claim.user,
            "state": ClaimState.CONFIRMED,
            "host": claim.host,
            "allocations": claim.allocations,
            "request_id": claim.request_id,
            "alternates": "",
            "role": claim.role,
            "migration": claim.migration,
            "group": None if claim.group is None else documents.encode_group(claim.group),
        }
    )
