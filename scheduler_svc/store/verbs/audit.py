# SPDX-License-Identifier: Apache-2.0
"""The audit verb: what runs on a host is the truth."""

from collections.abc import Sequence
from dataclasses import replace

from rpcapi import errors
from rpcapi.model import names
from rpcapi.model.claims import Answer, ClaimState
from scheduler_svc.store.records import AuditOutcome, Claim, Ended, Ref, Running
from scheduler_svc.store.verbs.partition import UNKNOWN_END, Partition, answer_of


def audit(
    partition: Partition, host: str, epoch: int, running: Sequence[Running], *, grace_ms: int, now: int
) -> AuditOutcome:
    """Settle with what runs on ``host``; the caller holds the lock and has validated it. Raises UnknownHost."""
    if host not in partition.reports:
        raise errors.UnknownHost(name=host)
    if epoch != partition.epoch:
        return AuditOutcome(partition.epoch, (), 0, 0, 0, 0)
    partition.expect(
        consumers=[one.consumer for one in running],
        providers={provider for one in running for provider in one.allocations},
        groups={one.group.id for one in running if one.group},
    )
    settled = [_settle(partition, one, now) for one in running]
    reported = {(one.consumer, one.attempt) for one in running}
    released, waits = _settle_unreported(partition, host, reported, grace_ms, now)
    partition.flush(now, flag=True)
    partition.await_no_more(host)
    if partition.opened.get(host) != epoch:
        partition.opened[host] = epoch
        partition.append("opened", {host: epoch})
    answers = [Ended(one.consumer, one.attempt, answer) for one, (answer, _again) in zip(running, settled, strict=True)]
    reasserted = sum(again for _answer, again in settled)
    return AuditOutcome(epoch, answers, reasserted, released, len(waits), max(waits, default=0))


def _settle(partition: Partition, one: Running, now: int) -> tuple[Answer, bool]:
    """Return the answer for one reported claim, and whether the store had forgotten it."""
    live = partition.claims.get(one.consumer)
    if live is not None and live.attempt == one.attempt:
        if names.host_of(live.host) != names.host_of(one.host):
            return Answer.CONFLICT, False
        return _settle_live(partition, live, one, now)
    end = partition.end_of(Ref(one.consumer, one.attempt))
    if end is not None:
        return (Answer.ABORTED if end == UNKNOWN_END else answer_of(end)), False
    if live is not None and live.attempt > one.attempt:
        return Answer.CONFLICT, False
    if live is not None:
        # A later attempt is made only when the earlier one has ended: that end was forgotten.
        partition.end(live, _forgotten_end(live), now)
    if not one.confirmed:
        # Only this host could have confirmed it, and it says that it has not.
        partition.bury(Ref(one.consumer, one.attempt), ClaimState.ABORTED, now)
        return Answer.ABORTED, False
    partition.hold(_reasserted(one, now))
    return Answer.CONFIRMED, True


def _settle_live(partition: Partition, live: Claim, one: Running, now: int) -> tuple[Answer, bool]:
    if live.state == ClaimState.CONFIRMED:
        if live.orphan_ms is not None:
            partition.claims[live.consumer] = replace(live, orphan_ms=None)
        return Answer.CONFIRMED, False
    if one.confirmed:
        partition.confirm(live)
        return Answer.CONFIRMED, True
    end = _end_of_prepared(partition, live, now)
    if end is None:
        return Answer.PREPARED, False
    partition.end(live, end, now)
    return answer_of(end), False


def _forgotten_end(live: Claim) -> ClaimState:
    return ClaimState.RELEASED if live.state == ClaimState.CONFIRMED else ClaimState.ABORTED


def _end_of_prepared(partition: Partition, live: Claim, now: int) -> ClaimState | None:
    """Return how a claim ends that its host has not confirmed; None: it stands.

    None outlives its epoch: that it had been aborted may be what was forgotten.
    """
    if partition.is_past(live, now):
        return ClaimState.EXPIRED
    return None if partition.is_open(live.host) else ClaimState.ABORTED


def _settle_unreported(
    partition: Partition, host: str, reported: set[tuple[str, int]], grace_ms: int, now: int
) -> tuple[int, list[int]]:
    """Deal with claims on ``host`` that it does not know; return how many were released, and the waits of the rest."""
    released, waits = 0, []
    for claim in partition.claims_on(host):
        if (claim.consumer, claim.attempt) in reported:
            continue
        if claim.state == ClaimState.PREPARED:
            end = _end_of_prepared(partition, claim, now)
            if end is not None:
                partition.end(claim, end, now)
            continue
        since = now if claim.orphan_ms is None else claim.orphan_ms
        if now - since >= grace_ms:
            partition.end(claim, ClaimState.RELEASED, now)
            released += 1
        else:
            partition.claims[claim.consumer] = replace(claim, orphan_ms=since)
            waits.append(since + grace_ms - now)
    return released, waits


def _reasserted(one: Running, now: int) -> Claim:
    return Claim(
        consumer=one.consumer,
        attempt=one.attempt,
        generation=1,
        type=one.type,
        project=one.project,
        user=one.user,
        state=ClaimState.CONFIRMED,
        host=one.host,
        allocations=one.allocations,
        request_id=one.request_id,
        created_ms=now,
        group=one.group,
    )
