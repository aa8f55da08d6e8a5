# SPDX-License-Identifier: Apache-2.0
"""The prepare verb: plans the whole batch on sums with deltas, then writes all of it or nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rpcapi.resources import names
from rpcapi.resources.claims import Answer, ClaimState, GroupPolicy, Verdict
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
from scheduler_svc.store.verbs.partition import PartitionState
from scheduler_svc.store.verbs.pinning import has_left

EXPIRE_BATCH = 500  # claims past their deadline that one call ends first


@dataclass
class PreparePlan:
    """The changes planned so far for a batch: ``deltas`` to sums, ``member_deltas`` to the group's members by host."""

    deltas: dict[tuple[str, str], int] = field(default_factory=dict)
    member_deltas: dict[str, int] = field(default_factory=dict)
    replaced: list[Claim] = field(default_factory=list)
    forgotten: list[ClaimRef] = field(default_factory=list)  # attempts to replace that the store does not know
    new_claims: list[Claim] = field(default_factory=list)

    def add(self, claim: Claim, sign: int, batch: ClaimBatch) -> None:
        """Add a claim to the deltas (``sign`` 1), or subtract it (-1)."""
        for provider, amounts in claim.allocations.items():
            for resource_class, amount in amounts.items():
                key = (provider, resource_class)
                self.deltas[key] = self.deltas.get(key, 0) + sign * amount
        if batch.group and claim.group and claim.group.id == batch.group.id:
            self.member_deltas[claim.host] = self.member_deltas.get(claim.host, 0) + sign


def prepare(partition: PartitionState, batch: ClaimBatch, now: int) -> BatchAnswer | None:
    """Prepare the batch; the caller has exclusive access and has validated the batch.

    No claim past its deadline counts. None: only such claims were ended, and more are left; call it again.
    """
    if partition.expire(now, EXPIRE_BATCH).due == EXPIRE_BATCH:
        partition.flush(now)
        return None
    _prefetch(partition, batch)
    if batch.epoch != partition.epoch:
        partition.flush(now)
        refused = [IntentResult(intent.consumer, intent.attempt, Answer.REFUSED) for intent in batch.intents]
        return BatchAnswer(False, False, partition.epoch, partition.position, refused)
    plan = PreparePlan()
    # What the batch ends is planned before anything is placed.
    known = [_examine(partition, batch, intent, plan, now) for intent in batch.intents]
    prepared = [
        result or _try_candidates(partition, batch, intent, plan, now)
        for intent, result in zip(batch.intents, known, strict=True)
    ]
    accepted = all(result.answer is Answer.PREPARED for result in prepared)
    if accepted:
        _write(partition, plan, now)
    else:
        planned = {claim.consumer for claim in plan.new_claims}
        prepared = [_refused(result) if result.consumer in planned else result for result in prepared]
    changed = sorted(partition.changed_providers)
    partition.flush(now)
    used = {provider: dict(partition.used.get(provider, {})) for provider in changed}
    return BatchAnswer(accepted, True, partition.epoch, partition.position, prepared, used)


def _prefetch(partition: PartitionState, batch: ClaimBatch) -> None:
    candidates = [candidate for intent in batch.intents for candidate in intent.candidates]
    related = {
        name
        for candidate in candidates
        for name in _related_names(candidate.host, _required_allocations(batch, candidate))
    }
    partition.prefetch(
        consumers=[intent.consumer for intent in batch.intents],
        providers=related,
        services={names.host_of(name) for name in related},
        groups=[batch.group.id] if batch.group else (),
    )


def _refused(result: IntentResult) -> IntentResult:
    return IntentResult(result.consumer, result.attempt, Answer.REFUSED, verdicts=result.verdicts)


def _write(partition: PartitionState, plan: PreparePlan, now: int) -> None:
    for claim in plan.replaced:
        partition.end_claim(claim, ClaimState.ABORTED, now)
    for ref in plan.forgotten:
        partition.add_tombstone(ref, ClaimState.ABORTED, now)
    for claim in plan.new_claims:
        partition.add_claim(claim)


def _examine(
    partition: PartitionState, batch: ClaimBatch, intent: Intent, plan: PreparePlan, now: int
) -> IntentResult | None:
    """Return the answer to an attempt that the store knows or refuses; else None, and plan the end of the other one."""
    live = partition.live_claim(intent.consumer, now)
    if live is not None and live.attempt == intent.attempt:
        if partition.is_expired(live, now):
            return IntentResult(intent.consumer, intent.attempt, Answer.CLOSED, live.host)
        allocations = batch.explicit_allocations(live.host, live.allocations)
        return IntentResult(
            intent.consumer,
            intent.attempt,
            Answer.PREPARED,
            live.host,
            live.alternates,
            live.deadline_ms,
            allocations=allocations,
        )
    refusal = _refusal(partition, batch, intent, live)
    if refusal is not None:
        return IntentResult(intent.consumer, intent.attempt, refusal, live.host if live else None)
    if live is not None:
        plan.replaced.append(live)
        plan.add(live, -1, batch)
    elif intent.replaces is not None and partition.end_of(ClaimRef(intent.consumer, intent.replaces)) is None:
        plan.forgotten.append(ClaimRef(intent.consumer, intent.replaces))
    return None


def _refusal(partition: PartitionState, batch: ClaimBatch, intent: Intent, live: Claim | None) -> Answer | None:
    """Return why the attempt may not be prepared at all, or None."""
    ends = partition.ended.get(intent.consumer)
    if (ends and intent.attempt <= max(ends)) or (live is not None and intent.attempt < live.attempt):
        return Answer.ENDED
    if live is not None:
        if intent.replaces != live.attempt:
            # Replacing a later attempt than the live one shows that the store forgot the live one's end.
            return Answer.CLOSED if (intent.replaces or 0) > live.attempt else Answer.CONFLICT
        if live.state == ClaimState.CONFIRMED:
            return Answer.CONFIRMED
        return None if partition.is_open(live.host) else Answer.CLOSED
    has_ended = intent.replaces is None or partition.end_of(ClaimRef(intent.consumer, intent.replaces)) is not None
    if (batch.fresh and has_ended) or not partition.may_have_forgotten(intent.consumer):
        return None
    return Answer.CLOSED


def _try_candidates(
    partition: PartitionState, batch: ClaimBatch, intent: Intent, plan: PreparePlan, now: int
) -> IntentResult:
    verdicts: dict[int, Verdict] = {}
    for index in _order(partition, batch, intent, verdicts):
        verdicts[index] = _judge(partition, batch, intent.candidates[index], plan)
        if verdicts[index] is Verdict.FITS:
            claim = _claim(batch, intent, index, now, now + partition.lead_ms)
            plan.new_claims.append(claim)
            plan.add(claim, 1, batch)
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
    """Yield the candidates' indexes: unchanged near ones, near ones that changed since the decision, all others.

    Near candidates that changed get PASSED in ``verdicts`` until they are tried.
    """
    near = min(intent.near, len(intent.candidates))
    changed = []
    for index in range(near):
        if near > 1 and _has_changed(partition, batch, intent.candidates[index]):
            verdicts[index] = Verdict.PASSED
            changed.append(index)
        else:
            yield index
    yield from changed
    yield from range(near, len(intent.candidates))


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
        allocations=_required_allocations(batch, selected),
        request_id=batch.request_id,
        created_ms=clock_ms,
        deadline_ms=now + batch.ttl_ms,
        alternates=tuple(candidate.host for candidate in following),
        group=batch.group,
    )


def _required_allocations(batch: ClaimBatch, candidate: Candidate) -> Allocations:
    return {candidate.host: batch.resources} if candidate.allocations is None else candidate.allocations


def _judge(partition: PartitionState, batch: ClaimBatch, candidate: Candidate, plan: PreparePlan) -> Verdict:
    required = _required_allocations(batch, candidate)
    if candidate.host not in partition.capacity:
        return Verdict.UNKNOWN
    is_stale = any(
        partition.eligible.get(name, 0) > batch.position for name in _related_names(candidate.host, required)
    )
    if not _has_inventories(partition, required):
        # The tree changed: the removed provider existed when the decision was made.
        return Verdict.STALE if is_stale else Verdict.UNKNOWN
    if not all(partition.is_open(provider) for provider in (candidate.host, *required)):
        return Verdict.CLOSED
    if is_stale:
        return Verdict.STALE
    if not all(_fits(partition, provider, amounts, plan) for provider, amounts in required.items()):
        return Verdict.CONCURRENT if _has_changed(partition, batch, candidate) else Verdict.FULL
    return _judge_fitting(partition, batch, candidate.host, required, plan)


def _judge_fitting(
    partition: PartitionState, batch: ClaimBatch, host: str, required: Allocations, plan: PreparePlan
) -> Verdict:
    """Return the verdict on a candidate that has room."""
    if not _group_allows(partition, batch, host, plan):
        return Verdict.GROUP
    return Verdict.CLOSED if _awaits_audits(partition, batch, host, required) else Verdict.FITS


def _related_names(host: str, required: Allocations) -> set[str]:
    """Return the names whose eligibility a candidate depends on: its host, its providers, and their service hosts."""
    involved = {host, *required}
    return involved | {names.host_of(name) for name in involved}


def _has_changed(partition: PartitionState, batch: ClaimBatch, candidate: Candidate) -> bool:
    """Return whether the sums or inventories of a candidate's providers changed since the decision."""
    decided_at = candidate.sums_position or batch.position
    return any(partition.changed.get(provider, 0) > decided_at for provider in _required_allocations(batch, candidate))


def _has_inventories(partition: PartitionState, required: Allocations) -> bool:
    return all(
        resource_class in partition.capacity.get(provider, {})
        for provider, amounts in required.items()
        for resource_class in amounts
    )


def _fits(partition: PartitionState, provider: str, amounts: Mapping[str, int], plan: PreparePlan) -> bool:
    capacities, used = partition.capacity[provider], partition.used.get(provider, {})
    for resource_class, amount in amounts.items():
        unit = capacities[resource_class]
        capacity, least, most, step = (unit, 1, unit, 1) if isinstance(unit, int) else unit
        in_use = used.get(resource_class, 0) + plan.deltas.get((provider, resource_class), 0)
        if in_use + amount > capacity or not least <= amount <= most or amount % step:
            return False
    return True


def _group_allows(partition: PartitionState, batch: ClaimBatch, host: str, plan: PreparePlan) -> bool:
    if batch.group is None:
        return True
    members = partition.groups.get(batch.group.id, {})
    if has_left(partition, batch.group.id, batch.group_generation, bool(members)):
        return False
    if batch.group.policy is GroupPolicy.ANTI_AFFINITY:
        return members.get(host, 0) + plan.member_deltas.get(host, 0) < batch.group.max_per_host
    if batch.group.policy is not GroupPolicy.AFFINITY:
        return True
    return all(
        other == host or members.get(other, 0) + plan.member_deltas.get(other, 0) <= 0
        for other in {*members, *plan.member_deltas}
    )


def _awaits_audits(partition: PartitionState, batch: ClaimBatch, host: str, required: Allocations) -> bool:
    """Return whether claims that the store may have forgotten could rule the candidate out.

    These are members of an affinity group without known ones, and claims on a provider that another host shares.
    """
    is_affinity = batch.group is not None and batch.group.policy is GroupPolicy.AFFINITY
    has_members = batch.group is not None and bool(partition.groups.get(batch.group.id))
    has_shared = any(names.host_of(provider) != names.host_of(host) for provider in required)
    return ((is_affinity and not has_members) or has_shared) and partition.awaits_any()
