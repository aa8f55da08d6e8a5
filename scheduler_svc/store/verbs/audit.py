# SPDX-License-Identifier: Apache-2.0
"""Audit verb: reconciles stored claims with the guests that a host reports."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from rpcapi import errors
from rpcapi.resources import names
from rpcapi.resources.claims import MIGRATION_ATTEMPT, Answer, ClaimRole, ClaimState, MoveEnd
from scheduler_svc.core.records import Claim, ClaimRef, ClaimResult
from scheduler_svc.store.allocations import generation_of, is_api_claim
from scheduler_svc.store.records import AuditOutcome, RunningClaim
from scheduler_svc.store.registrations import DUPLICATE
from scheduler_svc.store.tombstones import UNKNOWN_END
from scheduler_svc.store.unverified import consumer_of, unverified_name
from scheduler_svc.store.verbs.credibility import believed_allocations, is_credible
from scheduler_svc.store.verbs.ending import find_for_host
from scheduler_svc.store.verbs.moves import as_source, make_source
from scheduler_svc.store.verbs.partition import PartitionState, answer_of

SHARED_PAUSE_MS = 10_000  # shortest pause before the next audit while a duplicate identity has orphans


def audit(
    partition: PartitionState,
    now: int,
    host: str,
    epoch: int,
    running: Sequence[RunningClaim],
    *,
    grace_ms: int,
    host_uuid: str | None,
) -> AuditOutcome:
    migrations = (claim.migration for claim in running if claim.migration is not None)
    partition.prefetch(
        consumers=[*(claim.consumer for claim in running), *migrations],
        providers={provider for claim in running for provider in claim.allocations},
        services=[host],
        groups={claim.group.id for claim in running if claim.group},
    )
    partition.check_identity(host, host_uuid)
    if host not in partition.reports:
        raise errors.UnknownHost(name=host)
    if epoch != partition.epoch:
        return AuditOutcome(partition.epoch, (), 0, 0, 0, 0)
    others = [claim for claim in running if not _is_live_on(partition, claim.ref, host)]
    _prefetch_related(
        partition, {name for claim in others for name in (claim.consumer, unverified_name(*claim.ref, host))}
    )
    outcomes = [_reconcile(partition, claim, now) for claim in running]
    reported = {claim.ref for claim in running}
    released, orphans, again_ms = _end_unreported(partition, host, reported, grace_ms, now)
    partition.flush(now, flag=True)
    partition.stop_awaiting(host)
    if partition.opened.get(host) != epoch:
        partition.opened[host] = epoch
        partition.append("opened", {host: epoch})
    answers = [ClaimResult(*claim.ref, answer) for claim, (answer, _again) in zip(running, outcomes, strict=True)]
    reasserted = sum(again for _answer, again in outcomes)
    return AuditOutcome(epoch, answers, reasserted, released, orphans, again_ms, partition.position)


def vouch_all(partition: PartitionState, now: int, host: str, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
    _prefetch_related(partition, {name for ref in refs for name in (ref.consumer, unverified_name(*ref, host))})
    results = [vouch(partition, host, ref, now) for ref in refs]
    partition.flush(now, flag=True)
    return results


def vouch(partition: PartitionState, host: str, ref: ClaimRef, now: int) -> ClaimResult:
    """Turn an unverified claim into its consumer's claim, because the conductor's record names this attempt."""
    claim, answer = find_for_host(partition, ref, host, now)
    if claim is not None or answer is not None:
        return ClaimResult(*ref, answer or answer_of(claim.state if claim else ""), claim.host if claim else None)
    unverified = partition.claims.get(unverified_name(*ref, host))
    if unverified is None:
        return ClaimResult(*ref, Answer.UNKNOWN)
    live = partition.claims.get(ref.consumer)
    vouched = _verified(partition, unverified, ref)
    others = _other_claims(partition, live, vouched)
    later = [other for other in others if other.attempt > ref.attempt]
    contradicting = later or [other for other in others if partition.is_reported(other)]
    if contradicting:
        return ClaimResult(*ref, Answer.CONFLICT, contradicting[0].host)
    if _has_other_claim(partition, vouched) or not is_credible(partition, unverified, live):
        return ClaimResult(*ref, Answer.CONFLICT, unverified.host)
    partition.end_claim(unverified, ClaimState.RELEASED, now)
    _end_contradicting_claims(partition, others, vouched, now)
    partition.add_claim(vouched)
    return ClaimResult(*ref, Answer.CONFIRMED, unverified.host)


def _prefetch_related(partition: PartitionState, consumers: Collection[str]) -> None:
    """Prefetch what reconciling these consumers reads: claims, both ends of moves, hosts and providers."""
    hosts: Collection[str] = ()
    providers: Collection[str] = ()
    for _ in range(3):  # round 1: claims; round 2: their hosts, and other ends of moves; round 3: these ends' hosts
        partition.prefetch(consumers=consumers, services=hosts, providers=providers)
        claims = [claim for name in consumers if (claim := partition.claims.get(name)) is not None]
        hosts = {names.host_of(claim.host) for claim in claims}
        providers = {provider for claim in claims for provider in claim.allocations}
        related = {*map(partition.sources.get, consumers), *(claim.move for claim in claims)}
        consumers = {claim.ref.consumer for claim in claims} | {name for name in related if name is not None}


def _reconcile(partition: PartitionState, claim: RunningClaim, now: int) -> tuple[Answer, bool]:
    """Reconcile one reported claim; return (answer, whether a forgotten claim or amount was restored)."""
    live_attempt = partition.claim_of(claim.ref)
    if live_attempt is not None:
        if names.host_of(live_attempt.host) == names.host_of(claim.host):
            return _reconcile_live(partition, _with_role(partition, live_attempt, claim, now), claim, now)
        return _reconcile_elsewhere(partition, live_attempt, claim, now)
    live = partition.claims.get(claim.consumer)
    is_source = live is not None and live.source_attempt == claim.attempt
    end = partition.own_end_of(claim.ref) if is_source else partition.end_of(claim.ref)
    if end is not None:
        return (Answer.ABORTED if end == UNKNOWN_END else answer_of(end)), False
    forgotten = _reported_claim(partition, claim, now, live)
    others = _other_claims(partition, live, forgotten)
    if any(other.attempt > claim.attempt for other in others):
        return Answer.CONFLICT, False
    is_contradicted = any(partition.is_reported(other) for other in others) or _has_other_claim(partition, forgotten)
    is_excessive = claim.confirmed and not is_credible(partition, claim, live)
    if not partition.may_have_lost_claims_of(claim.host) or is_contradicted or is_excessive:
        # The store lost no claims of this host, a reported claim contradicts this one, or its amounts are not credible.
        return _store_as_unverified(partition, claim, now, otherwise=Answer.ABORTED)
    if claim.confirmed:
        _end_contradicting_claims(partition, others, forgotten, now)
        partition.add_claim(forgotten)
    else:
        # It is safe to abort the claim: only this host could have confirmed it, and it has not.
        partition.add_tombstone(claim.ref, ClaimState.ABORTED, now)
    return (Answer.CONFIRMED if claim.confirmed else Answer.ABORTED), claim.confirmed


def _reconcile_elsewhere(partition: PartitionState, live: Claim, claim: RunningClaim, now: int) -> tuple[Answer, bool]:
    """Reconcile a reported attempt whose stored claim is on a different host."""
    may_be_lost = live.state == ClaimState.PREPARED and partition.may_have_lost_claims_of(claim.host)
    reported = _reported_claim(partition, claim, now, None)
    if (
        claim.confirmed
        and may_be_lost
        and is_credible(partition, claim, live)
        and not _has_other_claim(partition, reported)
    ):
        # The store forgot the reported claim and prepared the attempt again. No guest runs under the new claim.
        partition.drop_claim(live)
        partition.add_claim(reported)
        return Answer.CONFIRMED, True
    if claim.confirmed and partition.is_fenced(claim.host):
        # The live attempt began after the fence, which also ended this copy, although the store had forgotten it.
        return Answer.FENCED, False
    return _store_as_unverified(partition, claim, now, otherwise=Answer.CONFLICT)


def _has_other_claim(partition: PartitionState, claim: Claim) -> bool:
    """Return whether the claim's migration has a claim other than this one and the source of its move."""
    holder = None if claim.move is None else partition.claims.get(claim.move)
    return holder is not None and holder.ref not in (claim.ref, ClaimRef(claim.ref.consumer, claim.source_attempt or 0))


def _are_ends_of_one_move(first: Claim, second: Claim) -> bool:
    return first.source_attempt == second.attempt or second.source_attempt == first.attempt


def _other_claims(partition: PartitionState, live: Claim | None, claim: Claim) -> list[Claim]:
    """Return the instance's live claims that contradict a forgotten ``claim``: all except the other end of its move."""
    claims = (live, partition.source_of(claim.ref.consumer))
    return [
        other
        for other in claims
        if other is not None and (is_api_claim(other) or not _are_ends_of_one_move(other, claim))
    ]


def _end_contradicting_claims(partition: PartitionState, others: Sequence[Claim], claim: Claim, now: int) -> None:
    """End the contradicting claims; if ``claim`` is a destination, restore the source of its move.

    ``claim`` is a later attempt, which proves that all earlier ones except its source ended. The store forgot that.
    """
    for other in others:
        partition.end_claim(other, _forgotten_end(other), now)
    if claim.migration is not None and claim.source_attempt is not None:
        moved = partition.claim_of(ClaimRef(claim.ref.consumer, claim.source_attempt))
        if moved is not None and moved.move != claim.migration:
            make_source(partition, moved, claim.migration)


def _store_as_unverified(
    partition: PartitionState, claim: RunningClaim, now: int, *, otherwise: Answer
) -> tuple[Answer, bool]:
    """Store a reported claim as unverified. Returns ``otherwise`` for a claim that its host never confirmed."""
    if not claim.confirmed:
        return otherwise, False
    if partition.is_fenced(claim.host) and not partition.may_have_lost_claims_of(claim.host):
        # The fence ended all claims of the host, which was closed since; this claim's tombstone may be gone.
        return Answer.FENCED, False
    name = unverified_name(claim.consumer, claim.attempt, names.host_of(claim.host))
    if name not in partition.claims:
        reported = _reported_claim(partition, claim, now, None)
        partition.add_claim(
            replace(reported, consumer=name, state=ClaimState.UNVERIFIED, instance=None, migration=reported.move)
        )
    return Answer.UNVERIFIED, False


def _reconcile_live(partition: PartitionState, live: Claim, claim: RunningClaim, now: int) -> tuple[Answer, bool]:
    if live.state == ClaimState.CONFIRMED or claim.confirmed:
        is_forgotten = live.state != ClaimState.CONFIRMED
        if is_forgotten:
            partition.confirm(live)
        elif live.orphan_ms is not None:
            partition.claims[live.consumer] = replace(live, orphan_ms=None)
        is_raised = claim.confirmed and _note_report(partition, partition.claims[live.consumer], claim)
        return Answer.CONFIRMED, is_forgotten or is_raised
    end = _end_of_prepared(partition, live, now)
    if end is None:
        return Answer.PREPARED, False
    partition.end_claim(live, end, now)
    return answer_of(end), False


def _note_report(partition: PartitionState, live: Claim, claim: RunningClaim) -> bool:
    """Record the amounts that the agent reports for a confirmed claim; return whether the claim grew."""
    allocations = believed_allocations(partition, live, claim)
    noted = replace(
        live, allocations=allocations, reported=None if claim.allocations == allocations else claim.allocations
    )
    if allocations == live.allocations:
        if noted != live:
            partition.claims[live.consumer] = noted
        return False
    partition.drop_claim(live)
    partition.add_claim(replace(noted, generation=generation_of(live, partition.generation_base) + 1))
    return True


def _forgotten_end(live: Claim) -> ClaimState:
    return ClaimState.RELEASED if live.state == ClaimState.CONFIRMED else ClaimState.ABORTED


def _end_of_prepared(partition: PartitionState, live: Claim, now: int) -> ClaimState | None:
    """Return how a prepared claim ends in an audit, or None if it goes on.

    On a host that was not open it is aborted, because the store may have forgotten an abort.
    """
    if partition.is_expired(live, now):
        return ClaimState.EXPIRED
    return None if partition.is_open(live.host) else ClaimState.ABORTED


def _end_unreported(
    partition: PartitionState, host: str, reported: set[ClaimRef], grace_ms: int, now: int
) -> tuple[int, int, int]:
    """End claims that ``host`` did not report, or mark them as orphans.

    Agents that share the host's name do not know each other's guests, so their orphans are not released. Returns
    (number of released claims, number of orphans, ms until the next audit or 0).
    """
    shared = DUPLICATE in partition.services.get(host, {})
    released = orphans = again_ms = 0
    consumers = {claim.consumer: consumer_of(claim.ref.consumer) for claim in partition.claims_on(host)}
    _prefetch_related(partition, {consumer for name, consumer in consumers.items() if name != consumer})
    for name in consumers:
        claim = partition.claims[name]  # not as listed: the end of a source changes its destination
        ref = ClaimRef(consumer_of(claim.ref.consumer), claim.attempt)
        is_unverified = claim.state == ClaimState.UNVERIFIED
        if is_unverified and _is_live_on(partition, ref, host):
            partition.end_claim(claim, ClaimState.RELEASED, now)  # the same attempt is now its consumer's claim
            continue
        if ref in reported:
            if is_unverified:
                partition.claims[claim.consumer] = replace(claim, orphan_ms=None)
                again_ms = max(again_ms, grace_ms)
            continue
        if claim.state == ClaimState.PREPARED:
            end = _end_of_prepared(partition, claim, now)
            if end is not None:
                partition.end_claim(claim, end, now)
            continue
        since = now if claim.orphan_ms is None else claim.orphan_ms
        # An unverified claim needs no grace period once its attempt has ended.
        is_over = now - since >= grace_ms or (is_unverified and partition.end_of(ref) is not None)
        if is_over and not shared:
            partition.end_claim(claim, ClaimState.RELEASED, now)
            released += 1
        else:
            partition.claims[claim.consumer] = replace(claim, orphan_ms=since)
            orphans += 1
            again_ms = max(again_ms, since + grace_ms - now, SHARED_PAUSE_MS if shared else 0)
    return released, orphans, again_ms


def _is_live_on(partition: PartitionState, ref: ClaimRef, host: str) -> bool:
    live = partition.claim_of(ref)
    return live is not None and names.host_of(live.host) == host


def _move_of(partition: PartitionState, claim: RunningClaim, live: Claim | None) -> MoveEnd:
    """Return the move of a reported attempt, by its live destination or else by its agent's report."""
    if live is not None and live.migration is not None and live.source_attempt == claim.attempt:
        return MoveEnd(ClaimRole.SOURCE, live.migration)
    return _open_move(partition, MoveEnd(claim.role, claim.migration, claim.source_attempt))


def _open_move(partition: PartitionState, move: MoveEnd) -> MoveEnd:
    """Return ``move``, or no move if its migration has ended."""
    if move.migration is None or partition.end_of(ClaimRef(move.migration, MIGRATION_ATTEMPT)) is not None:
        return MoveEnd()
    return move


def _with_role(partition: PartitionState, live: Claim, claim: RunningClaim, now: int) -> Claim:
    """Return the live claim, made a source again if its agent names a move that the store forgot."""
    role, migration, _source_attempt = _move_of(partition, claim, None)
    if role is not ClaimRole.SOURCE or migration is None or not partition.may_have_lost_claims_of(claim.host):
        return live
    if live.move == migration or migration in partition.claims or is_api_claim(live):
        return live
    claims = (partition.claims.get(claim.consumer), partition.source_of(claim.consumer))
    others = [
        other
        for other in claims
        if other is not None and other != live and (other.move, other.source_attempt) != (migration, claim.attempt)
    ]
    if any(partition.is_reported(other) for other in others):
        return live
    for other in others:
        partition.end_claim(other, _forgotten_end(other), now)
    return make_source(partition, partition.claim_of(claim.ref) or live, migration)


def _reported_claim(partition: PartitionState, claim: RunningClaim, now: int, live: Claim | None) -> Claim:
    plain = Claim(
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
        created_ms=now + partition.lead_ms,
        group=claim.group,
    )
    return _with_move(plain, _move_of(partition, claim, live))


def _with_move(claim: Claim, move: MoveEnd) -> Claim:
    if move.role is ClaimRole.SOURCE and move.migration is not None:
        return as_source(claim, move.migration)
    return replace(claim, migration=move.migration, source_attempt=move.source_attempt)


def _verified(partition: PartitionState, unverified: Claim, ref: ClaimRef) -> Claim:
    plain = replace(unverified, consumer=ref.consumer, state=ClaimState.CONFIRMED, migration=None, source_attempt=None)
    move = MoveEnd(unverified.role, unverified.migration, unverified.source_attempt)
    return _with_move(plain, _open_move(partition, move))
