# SPDX-License-Identifier: Apache-2.0
"""The audit verb: reconciles a host's claims with what runs there."""

from collections.abc import Sequence
from dataclasses import replace

from rpcapi import errors
from rpcapi.resources import names
from rpcapi.resources.claims import Answer, ClaimState
from scheduler_svc.core.records import Claim, ClaimRef, ClaimResult
from scheduler_svc.store.records import AuditOutcome, RunningClaim
from scheduler_svc.store.verbs.partition import UNKNOWN_END, PartitionState, answer_of


def audit(
    partition: PartitionState, host: str, epoch: int, running: Sequence[RunningClaim], *, grace_ms: int, now: int
) -> AuditOutcome:
    """Reconcile claims with what runs on ``host``; arguments are validated before. Raises UnknownHost."""
    if host not in partition.reports:
        raise errors.UnknownHost(name=host)
    if epoch != partition.epoch:
        return AuditOutcome(partition.epoch, (), 0, 0, 0, 0)
    partition.prefetch(
        consumers=[claim.consumer for claim in running],
        providers={provider for claim in running for provider in claim.allocations},
        groups={claim.group.id for claim in running if claim.group},
    )
    outcomes = [_reconcile(partition, claim, now) for claim in running]
    reported = {(claim.consumer, claim.attempt) for claim in running}
    released, waits = _end_unreported(partition, host, reported, grace_ms, now)
    partition.flush(now, flag=True)
    partition.stop_awaiting(host)
    if partition.opened.get(host) != epoch:
        partition.opened[host] = epoch
        partition.append("opened", {host: epoch})
    answers = [
        ClaimResult(claim.consumer, claim.attempt, answer)
        for claim, (answer, _again) in zip(running, outcomes, strict=True)
    ]
    reasserted = sum(again for _answer, again in outcomes)
    return AuditOutcome(epoch, answers, reasserted, released, len(waits), max(waits, default=0))


def _reconcile(partition: PartitionState, claim: RunningClaim, now: int) -> tuple[Answer, bool]:
    """Reconcile one reported claim; return its answer, and whether the store had forgotten it."""
    live = partition.claims.get(claim.consumer)
    if live is not None and live.attempt == claim.attempt:
        if names.host_of(live.host) != names.host_of(claim.host):
            return Answer.CONFLICT, False
        return _reconcile_live(partition, live, claim, now)
    end = partition.end_of(ClaimRef(claim.consumer, claim.attempt))
    if end is not None:
        return (Answer.ABORTED if end == UNKNOWN_END else answer_of(end)), False
    if live is not None and live.attempt > claim.attempt:
        return Answer.CONFLICT, False
    if live is not None:
        # A later attempt exists only if the earlier one has ended: the store forgot that end.
        partition.end_claim(live, _forgotten_end(live), now)
    if not claim.confirmed:
        # Only this host could have confirmed it, and it reports that it has not.
        partition.add_tombstone(ClaimRef(claim.consumer, claim.attempt), ClaimState.ABORTED, now)
        return Answer.ABORTED, False
    partition.add_claim(_reasserted(claim, now + partition.lead_ms))
    return Answer.CONFIRMED, True


def _reconcile_live(partition: PartitionState, live: Claim, claim: RunningClaim, now: int) -> tuple[Answer, bool]:
    if live.state == ClaimState.CONFIRMED:
        if live.orphan_ms is not None:
            partition.claims[live.consumer] = replace(live, orphan_ms=None)
        return Answer.CONFIRMED, False
    if claim.confirmed:
        partition.confirm(live)
        return Answer.CONFIRMED, True
    end = _end_of_prepared(partition, live, now)
    if end is None:
        return Answer.PREPARED, False
    partition.end_claim(live, end, now)
    return answer_of(end), False


def _forgotten_end(live: Claim) -> ClaimState:
    return ClaimState.RELEASED if live.state == ClaimState.CONFIRMED else ClaimState.ABORTED


def _end_of_prepared(partition: PartitionState, live: Claim, now: int) -> ClaimState | None:
    """Return how a claim ends that its host has not confirmed, or None if it stays prepared.

    A prepared claim of an earlier epoch is aborted: the store may have forgotten that it was aborted before.
    """
    if partition.is_expired(live, now):
        return ClaimState.EXPIRED
    return None if partition.is_open(live.host) else ClaimState.ABORTED


def _end_unreported(
    partition: PartitionState, host: str, reported: set[tuple[str, int]], grace_ms: int, now: int
) -> tuple[int, list[int]]:
    """End or flag claims on ``host`` that it did not report; return (number released, waits of orphans in ms)."""
    released, waits = 0, []
    for claim in partition.claims_on(host):
        if (claim.consumer, claim.attempt) in reported:
            continue
        if claim.state == ClaimState.PREPARED:
            end = _end_of_prepared(partition, claim, now)
            if end is not None:
                partition.end_claim(claim, end, now)
            continue
        since = now if claim.orphan_ms is None else claim.orphan_ms
        if now - since >= grace_ms:
            partition.end_claim(claim, ClaimState.RELEASED, now)
            released += 1
        else:
            partition.claims[claim.consumer] = replace(claim, orphan_ms=since)
            waits.append(since + grace_ms - now)
    return released, waits


def _reasserted(claim: RunningClaim, clock_ms: int) -> Claim:
    return Claim(
        consumer=claim.consumer,
        attempt=claim.attempt,
        generation=1,
        type=claim.type,
        project=claim.project,
        user=claim.user,
        state=ClaimState.CONFIRMED,
        host=claim.host,
        allocations=claim.allocations,
        request_id=claim.request_id,
        created_ms=clock_ms,
        group=claim.group,
    )
