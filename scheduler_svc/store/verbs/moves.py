# SPDX-License-Identifier: Apache-2.0
"""Verbs on moves. Like in Nova, the migration's uuid consumes the resources at the source of a move."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from rpcapi.resources.claims import INSTANCE, MIGRATION, MIGRATION_ATTEMPT, Answer, ClaimRole, ClaimState
from scheduler_svc.core.records import Claim, ClaimRef, ClaimResult
from scheduler_svc.store.allocations import is_api_claim
from scheduler_svc.store.verbs.ending import find_for_host, without_claim
from scheduler_svc.store.verbs.partition import PartitionState, answer_of


def change_all(
    partition: PartitionState,
    now: int,
    verb: Literal["begin_moves", "end_moves"],
    refs: Sequence[ClaimRef],
    migrations: Sequence[str],
) -> list[ClaimResult]:
    partition.prefetch(consumers={*(ref.consumer for ref in refs), *migrations})
    change = begin_move if verb == "begin_moves" else end_move
    return [change(partition, ref, migration, now) for ref, migration in zip(refs, migrations, strict=True)]


def begin_move(partition: PartitionState, ref: ClaimRef, migration: str, now: int) -> ClaimResult:
    claim, answer = find_for_host(partition, ref, None, now)
    if claim is None:
        return without_claim(partition, ref, answer)
    refusal = _refusal(partition, claim, migration)
    if refusal is not None:
        return ClaimResult(*ref, refusal, claim.host, migration=claim.move)
    make_source(partition, claim, migration)
    return ClaimResult(*ref, Answer.CONFIRMED, claim.host, migration=migration)


def _refusal(partition: PartitionState, claim: Claim, migration: str) -> Answer | None:
    """Return the answer for a claim that already is the migration's source or may not become it, or None."""
    if is_api_claim(claim):
        return Answer.FOREIGN
    if claim.state != ClaimState.CONFIRMED or (claim.role is ClaimRole.SOURCE and claim.move == migration):
        return answer_of(claim.state)
    if partition.end_of(ClaimRef(migration, MIGRATION_ATTEMPT)) is not None:
        return Answer.ENDED
    is_moving = claim.ref.consumer in partition.sources
    return Answer.CONFLICT if is_moving or migration in partition.claims else None


def end_move(partition: PartitionState, ref: ClaimRef, migration: str, now: int) -> ClaimResult:
    claim, answer = find_for_host(partition, ref, None, now)
    if claim is None:
        return without_claim(partition, ref, answer)
    if claim.role is ClaimRole.SOURCE and claim.move != migration:
        return ClaimResult(*ref, Answer.ENDED, claim.host, migration=claim.move)
    if claim.role is ClaimRole.SOURCE:
        destination = partition.live_claim(ref.consumer, now)
        if destination is not None:
            return ClaimResult(*ref, Answer.CONFLICT, destination.host, migration=migration)
    if partition.may_run(ref.consumer):
        return ClaimResult(*ref, Answer.CLOSED, claim.host, migration=migration)
    if claim.role is ClaimRole.SOURCE:
        partition.drop_claim(claim)
        claim = replace(claim, consumer=ref.consumer, type=INSTANCE, instance=None, generation=1)
        partition.add_claim(claim)
    ended = ClaimRef(migration, MIGRATION_ATTEMPT)
    partition.add_tombstone(ended, ClaimState.RELEASED, now, proves_before=MIGRATION_ATTEMPT)
    return ClaimResult(*ref, answer_of(claim.state), claim.host, migration=claim.move)


def make_source(partition: PartitionState, claim: Claim, migration: str) -> Claim:
    partition.drop_claim(claim)
    source = as_source(claim, migration)
    partition.add_claim(source)
    return source


def as_source(claim: Claim, migration: str) -> Claim:
    return replace(
        claim,
        consumer=migration,
        type=MIGRATION,
        instance=claim.ref.consumer,
        migration=None,
        source_attempt=None,
        generation=1,
    )


def source_host_of(partition: PartitionState, consumer: str, group_id: str) -> str | None:
    source = partition.source_of(consumer)
    return None if source is None or source.group is None or source.group.id != group_id else source.host
