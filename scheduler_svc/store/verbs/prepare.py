# SPDX-License-Identifier: Apache-2.0
"""Prepare verb: plans a batch in memory, then writes all of its claims or none."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rpcapi.resources import names
from rpcapi.resources.claims import MIGRATION_ATTEMPT, Answer, ClaimRole, ClaimState, Verdict
from scheduler_svc.core.records import (
    Allocations,
    BatchAnswer,
    Candidate,
    Claim,
    ClaimBatch,
    ClaimRef,
    Intent,
    IntentResult,
)
from scheduler_svc.store.allocations import generation_of, is_api_claim
from scheduler_svc.store.decisions import outcome
from scheduler_svc.store.verbs import decisions
from scheduler_svc.store.verbs.members import count_members
from scheduler_svc.store.verbs.moves import source_host_of
from scheduler_svc.store.verbs.partition import PartitionState
from scheduler_svc.store.verbs.pinning import note_return
from scheduler_svc.store.verbs.verdicts import PreparePlan, has_changed, judge, related_names, required_allocations
from scheduler_svc.store.verbs.whole_partition import WholePartition

EXPIRE_BATCH = 500  # most overdue claims that one call expires first


def prepare(partition: WholePartition, now: int, batch: ClaimBatch, decision_bytes: int) -> BatchAnswer | None:
    """Prepare a validated batch and record its decision.

    Returns None if the call only expired claims: call again, because more may be overdue.
    """
    answer = _prepare(partition, batch, now)
    if answer is not None and answer.current and batch.record is not None:
        decisions.record(partition, now, batch.request_id, {**batch.record, **outcome(batch, answer)}, decision_bytes)
    return answer


def _prepare(partition: PartitionState, batch: ClaimBatch, now: int) -> BatchAnswer | None:
    if partition.expire(now, EXPIRE_BATCH).due == EXPIRE_BATCH:
        partition.flush(now)
        return None
    _prefetch(partition, batch)
    if batch.epoch != partition.epoch:
        partition.flush(now)
        refused = [IntentResult(intent.consumer, intent.attempt, Answer.REFUSED) for intent in batch.intents]
        return BatchAnswer(False, False, partition.epoch, partition.position, refused)
    plan = PreparePlan(count_members(partition, batch, now))
    # First plan the ends of all replaced claims, so that new claims can use their capacity.
    examinations = [_examine(partition, batch, intent, plan, now) for intent in batch.intents]
    prepared = [
        result or _try_candidates(partition, batch, intent, plan, now)
        for intent, result in zip(batch.intents, examinations, strict=True)
    ]
    accepted = all(result.answer is Answer.PREPARED for result in prepared)
    if accepted:
        _write(partition, batch, plan, now)
    else:
        consumers = {claim.consumer for claim in plan.new_claims}
        prepared = [_refused(result) if result.consumer in consumers else result for result in prepared]
    changed = sorted(partition.changed_providers)
    partition.flush(now)
    used = {provider: dict(partition.used.get(provider, {})) for provider in changed}
    return BatchAnswer(accepted, True, partition.epoch, partition.position, prepared, used)


def _prefetch(partition: PartitionState, batch: ClaimBatch) -> None:
    candidates = [candidate for intent in batch.intents for candidate in intent.candidates]
    related = {
        name
        for candidate in candidates
        for name in related_names(candidate.host, required_allocations(batch, candidate))
    }
    partition.prefetch(
        consumers=[
            *(intent.consumer for intent in batch.intents),
            *(intent.migration for intent in batch.intents if intent.migration is not None),
            *batch.group_members.consumers,
        ],
        providers=related,
        services={names.host_of(name) for name in related},
        groups=[batch.group.id] if batch.group else (),
    )


def _refused(result: IntentResult) -> IntentResult:
    return IntentResult(result.consumer, result.attempt, Answer.REFUSED, verdicts=result.verdicts)


def _write(partition: PartitionState, batch: ClaimBatch, plan: PreparePlan, now: int) -> None:
    for claim in plan.replaced:
        partition.end_claim(claim, ClaimState.ABORTED, now)
    for ref in plan.forgotten:
        partition.add_tombstone(ref, ClaimState.ABORTED, now)
    for former in plan.former.values():
        partition.drop_claim(former)
    for claim in plan.new_claims:
        partition.add_claim(claim)
    if plan.new_claims and batch.group is not None and batch.group_generation:
        note_return(partition, batch.group.id)


def _examine(
    partition: PartitionState, batch: ClaimBatch, intent: Intent, plan: PreparePlan, now: int
) -> IntentResult | None:
    """Return the answer for a known or refused attempt. Otherwise plan the end of the attempt that it replaces."""
    live = partition.live_claim(intent.consumer, now)
    if batch.final:
        return _examine_final(partition, batch, intent, plan, live)
    source = partition.source_of(intent.consumer)
    has_moved = source is not None and source.attempt in (intent.attempt, intent.replaces)
    if has_moved or (live is not None and is_api_claim(live)):
        return IntentResult(intent.consumer, intent.attempt, Answer.CONFLICT, live.host if live else None)
    if live is not None and live.attempt == intent.attempt and not _is_of_other_move(intent, live):
        if partition.is_expired(live, now):
            return IntentResult(intent.consumer, intent.attempt, Answer.CLOSED, live.host)
        return _prepared_before(batch, intent, live)
    refusal = _refusal(partition, batch, intent, live)
    if refusal is not None:
        return IntentResult(intent.consumer, intent.attempt, refusal, live.host if live else None)
    if live is not None:
        plan.replaced.append(live)
        plan.add(live, -1, batch)
    elif intent.replaces is not None and partition.end_of(ClaimRef(intent.consumer, intent.replaces)) is None:
        plan.forgotten.append(ClaimRef(intent.consumer, intent.replaces))
    return None


def _prepared_before(batch: ClaimBatch, intent: Intent, live: Claim) -> IntentResult:
    return IntentResult(
        intent.consumer,
        intent.attempt,
        Answer.PREPARED,
        live.host,
        live.alternates,
        live.deadline_ms,
        allocations=batch.explicit_allocations(live.host, live.allocations),
    )


def _examine_final(
    partition: PartitionState, batch: ClaimBatch, intent: Intent, plan: PreparePlan, live: Claim | None
) -> IntentResult | None:
    """Return the answer for a final claim that exists or cannot be made.

    Otherwise plan to replace the consumer's former claim, which the new claim extends.
    """
    if live is not None and not is_api_claim(live):
        return IntentResult(intent.consumer, intent.attempt, Answer.CONFLICT, live.host)
    if intent.consumer in partition.unverified:
        return IntentResult(intent.consumer, intent.attempt, Answer.CLOSED)
    if live is not None and live.request_id == batch.request_id:
        return _prepared_before(batch, intent, live)
    if live is not None:
        plan.former[intent.consumer] = live
        plan.add(replace(live, allocations={}), -1, batch)
    return None


def _refusal(partition: PartitionState, batch: ClaimBatch, intent: Intent, live: Claim | None) -> Answer | None:
    ends = partition.ended.get(intent.consumer)
    claims = [claim for claim in (live, partition.source_of(intent.consumer)) if claim is not None]
    contradiction = _contradiction(partition, intent, claims)
    if contradiction is not None:
        return contradiction
    is_late = any(intent.attempt < claim.attempt for claim in claims)
    if is_late or (ends and intent.attempt <= max(ends)):
        return Answer.ENDED
    if live is not None:
        if intent.replaces != live.attempt:
            # An intent that replaces an attempt later than the live one proves that the store forgot the live claim's
            # end, or a move that ended with the live claim again. The host's report decides.
            may_have_ended = (intent.replaces or 0) > live.attempt and not partition.is_reported(live)
            return Answer.CLOSED if may_have_ended else Answer.CONFLICT
        if live.state == ClaimState.CONFIRMED:
            return Answer.CONFIRMED
    return Answer.CLOSED if _is_closed(partition, batch, intent, live) else None


def _contradiction(partition: PartitionState, intent: Intent, claims: Sequence[Claim]) -> Answer | None:
    """Return the answer if the intent's move contradicts the store, or None.

    CLOSED means that audits may still correct the store.
    """
    if intent.migration is not None and partition.own_end_of(ClaimRef(intent.migration, MIGRATION_ATTEMPT)) is not None:
        return Answer.CONFLICT
    others = [claim for claim in claims if _is_of_other_move(intent, claim)]
    if not others:
        return None
    is_certain = not partition.may_run(intent.consumer) and all(
        partition.is_open(claim.host) and claim.orphan_ms is None for claim in others
    )
    return Answer.CONFLICT if is_certain else Answer.CLOSED


def _is_of_other_move(intent: Intent, claim: Claim) -> bool:
    if claim.role is ClaimRole.SOURCE:
        return (claim.move, claim.attempt) != (intent.migration, intent.source_attempt)
    if intent.migration is None and claim.attempt != intent.attempt:
        return False
    is_source = claim.attempt == intent.source_attempt
    return not is_source and (claim.migration, claim.source_attempt) != (intent.migration, intent.source_attempt)


def _is_closed(partition: PartitionState, batch: ClaimBatch, intent: Intent, live: Claim | None) -> bool:
    """Return whether a different attempt of the consumer, or an unknown copy of this one, may run."""
    if intent.consumer in partition.unverified:
        return True
    if live is not None:
        return not partition.is_open(live.host)
    has_ended = intent.replaces is None or partition.end_of(ClaimRef(intent.consumer, intent.replaces)) is not None
    return not (batch.fresh and has_ended) and partition.may_have_forgotten()


def _try_candidates(
    partition: PartitionState, batch: ClaimBatch, intent: Intent, plan: PreparePlan, now: int
) -> IntentResult:
    verdicts: dict[int, Verdict] = {}
    former = plan.former.get(intent.consumer)
    if batch.group is not None:
        plan.source_host = source_host_of(partition, intent.consumer, batch.group.id)
    for index in _order(partition, batch, intent, verdicts):
        candidate = intent.candidates[index]
        if former is not None:
            candidate = _without_providers(batch, candidate, former.allocations)
        verdicts[index] = judge(partition, batch, candidate, plan)
        if verdicts[index] is Verdict.FITS:
            claim = _claim(batch, intent, index, now, now + partition.lead_ms)
            plan.add(replace(claim, allocations=required_allocations(batch, candidate)), 1, batch)
            if batch.final:
                claim = _final_claim(partition, claim, former)
            plan.new_claims.append(claim)
            return IntentResult(
                intent.consumer,
                intent.attempt,
                Answer.PREPARED,
                claim.host,
                claim.alternates,
                claim.deadline_ms,
                _in_order(verdicts),
                batch.explicit_allocations(claim.host, claim.allocations),
            )
    return IntentResult(intent.consumer, intent.attempt, Answer.REFUSED, verdicts=_in_order(verdicts))


def _in_order(verdicts: Mapping[int, Verdict]) -> tuple[Verdict, ...]:
    return tuple(verdicts[index] for index in range(len(verdicts)))


def _order(partition: PartitionState, batch: ClaimBatch, intent: Intent, verdicts: dict[int, Verdict]) -> Iterator[int]:
    """Yield the indexes of candidates: first unchanged near ones, then changed near ones, then the rest.

    A changed near candidate gets verdict PASSED until it is tried.
    """
    near = min(intent.near, len(intent.candidates))
    changed = []
    for index in range(near):
        if near > 1 and has_changed(partition, batch, intent.candidates[index]):
            verdicts[index] = Verdict.PASSED
            changed.append(index)
        else:
            yield index
    yield from changed
    yield from range(near, len(intent.candidates))


def _without_providers(batch: ClaimBatch, candidate: Candidate, former: Allocations) -> Candidate:
    required = required_allocations(batch, candidate)
    return replace(
        candidate, allocations={provider: amounts for provider, amounts in required.items() if provider not in former}
    )


def _final_claim(partition: PartitionState, claim: Claim, former: Claim | None) -> Claim:
    """Return a planned claim as a confirmed claim of the API, with the consumer's former allocations added."""
    ended = partition.ended.get(claim.consumer, {0: ""})
    base = partition.generation_base
    return replace(
        claim,
        attempt=max(ended) + 1 if former is None else former.attempt,
        generation=(base if former is None else generation_of(former, base)) + 1,
        state=ClaimState.CONFIRMED,
        deadline_ms=None,
        allocations=claim.allocations if former is None else {**claim.allocations, **former.allocations},
    )


def _claim(batch: ClaimBatch, intent: Intent, index: int, now: int, clock_ms: int) -> Claim:
    selected = intent.candidates[index]
    following = intent.candidates[index + 1 : index + 1 + batch.alternates]
    return Claim(
        consumer=intent.consumer,
        attempt=intent.attempt,
        generation=1,
        type=batch.consumer_type,
        project=batch.project,
        user=batch.user,
        state=ClaimState.PREPARED,
        host=selected.host,
        allocations=required_allocations(batch, selected),
        request_id=batch.request_id,
        created_ms=clock_ms,
        deadline_ms=now + batch.ttl_ms,
        migration=intent.migration,
        source_attempt=intent.source_attempt,
        alternates=tuple(candidate.host for candidate in following),
        group=batch.group,
    )
