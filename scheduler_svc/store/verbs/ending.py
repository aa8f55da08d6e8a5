# SPDX-License-Identifier: Apache-2.0
"""Verbs on single claims: confirm, abort, release, find."""

from collections.abc import Sequence
from typing import Literal

from rpcapi.resources import names
from rpcapi.resources.claims import Answer, ClaimState
from scheduler_svc.core.records import Claim, ClaimRef, ClaimResult
from scheduler_svc.store.tombstones import UNKNOWN_END
from scheduler_svc.store.unverified import unverified_name
from scheduler_svc.store.verbs.partition import PartitionState, answer_of


def end_all(
    partition: PartitionState,
    now: int,
    verb: Literal["confirm", "release"],
    host: str,
    refs: Sequence[ClaimRef],
    *,
    host_uuid: str | None,
) -> list[ClaimResult]:
    partition.check_identity(host, host_uuid)
    partition.prefetch(consumers={ref.consumer for ref in refs})
    end = confirm if verb == "confirm" else release
    return [end(partition, host, ref, now) for ref in refs]


def abort_all(
    partition: PartitionState,
    now: int,
    refs: Sequence[ClaimRef],
    host: str | None,
    destinations: Sequence[str | None],
    *,
    host_uuid: str | None,
) -> list[ClaimResult]:
    partition.check_identity(host or "", host_uuid)
    partition.prefetch(consumers={ref.consumer for ref in refs})
    rows = zip(refs, destinations, strict=True)
    return [abort(partition, host, ref, destination, now) for ref, destination in rows]


def find_all(partition: PartitionState, now: int, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
    partition.prefetch(consumers={ref.consumer for ref in refs})
    return [find(partition, ref, now) for ref in refs]


def confirm(partition: PartitionState, host: str, ref: ClaimRef, now: int) -> ClaimResult:
    claim, answer = find_for_host(partition, ref, host, now)
    if claim is None:
        return ClaimResult(*ref, answer or Answer.UNKNOWN)
    if answer is not None:
        return ClaimResult(*ref, answer, claim.host)
    if claim.state == ClaimState.PREPARED:
        if not partition.is_open(claim.host) or ref.consumer in partition.unverified:
            # The store may have forgotten that the claim ended, or a host reports an unverified claim of the consumer.
            return ClaimResult(*ref, Answer.CLOSED, claim.host)
        partition.confirm(claim)
    return ClaimResult(*ref, Answer.CONFIRMED, claim.host)


def abort(partition: PartitionState, host: str | None, ref: ClaimRef, destination: str | None, now: int) -> ClaimResult:
    """Abort a claim. Only service host ``destination`` may run the attempt; "" means no host, None any host."""
    claim, answer = find_for_host(partition, ref, host, now)
    if answer is not None:
        return ClaimResult(*ref, answer, claim.host if claim else None)
    if claim is None:
        if partition.may_have_forgotten(destination):
            return ClaimResult(*ref, Answer.CLOSED)
        partition.add_tombstone(ref, UNKNOWN_END, now)
        return ClaimResult(*ref, Answer.UNKNOWN)
    if claim.state == ClaimState.CONFIRMED:
        return ClaimResult(*ref, Answer.CONFIRMED, claim.host)
    if not partition.is_open(claim.host) and destination in (None, names.host_of(claim.host)):
        return ClaimResult(*ref, Answer.CLOSED, claim.host)
    partition.end_claim(claim, ClaimState.ABORTED, now)
    return ClaimResult(*ref, Answer.ABORTED, claim.host)


def release(partition: PartitionState, host: str, ref: ClaimRef, now: int) -> ClaimResult:
    claim, answer = find_for_host(partition, ref, host, now)
    unverified = None
    if ref.consumer in partition.unverified:
        unverified = partition.claims.get(unverified_name(*ref, host))
    if unverified is not None:
        partition.end_claim(unverified, ClaimState.RELEASED, now)
    if answer is not None:
        result = Answer.RELEASED if answer is Answer.UNKNOWN else answer
        return ClaimResult(*ref, result, claim.host if claim else None)
    if claim is None:
        if unverified is None:
            partition.add_tombstone(ref, ClaimState.RELEASED, now)
        return ClaimResult(*ref, Answer.RELEASED)
    partition.end_claim(claim, ClaimState.RELEASED, now)
    return ClaimResult(*ref, Answer.RELEASED, claim.host)


def find(partition: PartitionState, ref: ClaimRef, now: int) -> ClaimResult:
    claim, answer = find_for_host(partition, ref, None, now)
    if claim is not None:
        return ClaimResult(*ref, answer_of(claim.state), claim.host, migration=claim.move)
    for live in (partition.claims.get(ref.consumer), partition.source_of(ref.consumer)):
        if live is not None and live.attempt > ref.attempt:
            return ClaimResult(*ref, Answer.CONFLICT, live.host, end=without_claim(partition, ref, answer).answer)
    return without_claim(partition, ref, answer)


def without_claim(partition: PartitionState, ref: ClaimRef, end: Answer | None) -> ClaimResult:
    """Return the answer for an attempt without a live claim: its end, CLOSED if it may run, or UNKNOWN."""
    unknown = Answer.CLOSED if partition.may_run(ref.consumer) else Answer.UNKNOWN
    return ClaimResult(*ref, end or unknown)


def find_for_host(
    partition: PartitionState, ref: ClaimRef, host: str | None, now: int
) -> tuple[Claim | None, Answer | None]:
    """Return (an attempt's live claim or None, FOREIGN or its end or None).

    FOREIGN means that the live claim is not on ``host``; (None, None) means an unknown attempt. An overdue claim of the
    consumer on an open host ends first.
    """
    partition.live_claim(ref.consumer, now)
    claim = partition.claim_of(ref)
    if claim is not None:
        foreign = host is not None and names.host_of(claim.host) != host
        return claim, Answer.FOREIGN if foreign else None
    end = partition.end_of(ref)
    return None, None if end is None else answer_of(end)
