# SPDX-License-Identifier: Apache-2.0
"""The prepare verb: plan the whole batch on sums with deltas, then write it, or nothing."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rpcapi.model import names
from rpcapi.model.claims import Answer, ClaimState, GroupPolicy, Verdict
from scheduler_svc.store.records import Allocations, Batch, BatchAnswer, Candidate, Claim, Intent, Prepared, Ref
from scheduler_svc.store.verbs.partition import Partition

LAZY = 32  # claims past their deadline that one prepare tidies on its way


@dataclass
class Plan:
    """What the batch would change, as far as it is planned."""

    deltas: dict[tuple[str, str], int] = field(default_factory=dict)
    in_group: dict[str, int] = field(default_factory=dict)
    replaced: list[Claim] = field(default_factory=list)
    forgotten: list[Ref] = field(default_factory=list)  # attempts to replace that the store never saw
    made: list[Claim] = field(default_factory=list)

    def add(self, claim: Claim, sign: int, batch: Batch) -> None:
        """Count a claim in, or out."""
        for provider, amounts in claim.allocations.items():
            for resource_class, amount in amounts.items():
                key = (provider, resource_class)
                self.deltas[key] = self.deltas.get(key, 0) + sign * amount
        if batch.group and claim.group and claim.group.id == batch.group.id:
            self.in_group[claim.host] = self.in_group.get(claim.host, 0) + sign


def prepare(partition: Partition, batch: Batch, now: int) -> BatchAnswer:
    """Serve the batch; the caller holds the lock and has validated it."""
    _expect(partition, batch)
    partition.expire(now, LAZY)
    if batch.epoch != partition.epoch:
        partition.flush(now)
        refused = [Prepared(intent.consumer, intent.attempt, Answer.REFUSED) for intent in batch.intents]
        return BatchAnswer(False, False, partition.epoch, partition.position, refused)
    plan = Plan()
    if batch.group is not None:
        plan.in_group.update(partition.groups.get(batch.group.id, {}))
    prepared = [_plan_intent(partition, batch, intent, plan, now) for intent in batch.intents]
    accepted = all(one.answer is Answer.PREPARED for one in prepared)
    if accepted:
        _write(partition, plan, now)
    else:
        planned = {claim.consumer for claim in plan.made}
        prepared = [_undone(one) if one.consumer in planned else one for one in prepared]
    touched = sorted(partition.touched)
    partition.flush(now)
    used = {provider: dict(partition.used.get(provider, {})) for provider in touched}
    return BatchAnswer(accepted, True, partition.epoch, partition.position, prepared, used)


def _expect(partition: Partition, batch: Batch) -> None:
    tried = [candidate for intent in batch.intents for candidate in intent.candidates]
    speaking = {name for candidate in tried for name in _speaking(candidate.host, _asked(batch, candidate))}
    partition.expect(
        consumers=[intent.consumer for intent in batch.intents],
        providers=speaking,
        services={names.host_of(name) for name in speaking},
        groups=[batch.group.id] if batch.group else (),
    )


def _undone(one: Prepared) -> Prepared:
    return Prepared(one.consumer, one.attempt, Answer.REFUSED, verdicts=one.verdicts)


def _write(partition: Partition, plan: Plan, now: int) -> None:
    for claim in plan.replaced:
        partition.end(claim, ClaimState.ABORTED, now)
    for ref in plan.forgotten:
        partition.bury(ref, ClaimState.ABORTED, now)
    for claim in plan.made:
        partition.hold(claim)


def _plan_intent(partition: Partition, batch: Batch, intent: Intent, plan: Plan, now: int) -> Prepared:
    live = partition.settle(intent.consumer, now)
    if live is not None and live.attempt == intent.attempt:
        if partition.is_past(live, now):
            return Prepared(intent.consumer, intent.attempt, Answer.CLOSED, live.host)
        held = batch.told(live.host, live.allocations)
        return Prepared(
            intent.consumer,
            intent.attempt,
            Answer.PREPARED,
            live.host,
            live.alternates,
            live.deadline_ms,
            allocations=held,
        )
    barred = _barred(partition, intent, live)
    if barred is not None:
        return Prepared(intent.consumer, intent.attempt, barred, live.host if live else None)
    if live is not None:
        plan.replaced.append(live)
        plan.add(live, -1, batch)
    elif intent.replaces is not None and partition.end_of(Ref(intent.consumer, intent.replaces)) is None:
        plan.forgotten.append(Ref(intent.consumer, intent.replaces))
    return _try_candidates(partition, batch, intent, plan, now)


def _barred(partition: Partition, intent: Intent, live: Claim | None) -> Answer | None:
    """Return why the attempt may not be prepared at all."""
    ends = partition.ended.get(intent.consumer)
    if (ends and intent.attempt <= max(ends)) or (live is not None and intent.attempt < live.attempt):
        return Answer.ENDED
    if live is not None:
        if intent.replaces != live.attempt:
            # Who replaces a later attempt than we know of tells that this one's end was forgotten.
            return Answer.CLOSED if (intent.replaces or 0) > live.attempt else Answer.CONFLICT
        if live.state == ClaimState.CONFIRMED:
            return Answer.CONFIRMED
        return None if partition.is_open(live.host) else Answer.CLOSED
    if intent.replaces is not None and partition.may_have_forgotten(intent.consumer):
        known = partition.end_of(Ref(intent.consumer, intent.replaces)) is not None
        return None if known else Answer.CLOSED
    return None


def _try_candidates(partition: Partition, batch: Batch, intent: Intent, plan: Plan, now: int) -> Prepared:
    verdicts: dict[int, Verdict] = {}
    for index in _order(partition, batch, intent, verdicts):
        verdicts[index] = _judge(partition, batch, intent.candidates[index], plan)
        if verdicts[index] is Verdict.FITS:
            claim = _claim(batch, intent, index, now)
            plan.made.append(claim)
            plan.add(claim, 1, batch)
            return Prepared(
                intent.consumer,
                intent.attempt,
                Answer.PREPARED,
                claim.host,
                claim.alternates,
                claim.deadline_ms,
                _in_order(verdicts),
                batch.told(claim.host, claim.allocations),
            )
    return Prepared(intent.consumer, intent.attempt, Answer.REFUSED, verdicts=_in_order(verdicts))


def _in_order(verdicts: Mapping[int, Verdict]) -> tuple[Verdict, ...]:
    return tuple(verdicts[index] for index in range(len(verdicts)))


def _order(partition: Partition, batch: Batch, intent: Intent, verdicts: dict[int, Verdict]) -> Iterator[int]:
    """Yield the candidates' indexes: near ones as they were decided on, those that changed since, all others.

    Near ones that are to wait are noted in ``verdicts``.
    """
    near = min(intent.near, len(intent.candidates))
    touched = []
    for index in range(near):
        if near > 1 and _has_changed(partition, batch, intent.candidates[index]):
            verdicts[index] = Verdict.PASSED
            touched.append(index)
        else:
            yield index
    yield from touched
    yield from range(near, len(intent.candidates))


def _claim(batch: Batch, intent: Intent, index: int, now: int) -> Claim:
    chosen = intent.candidates[index]
    following = intent.candidates[index + 1 : index + 1 + batch.alternates]
    return Claim(
        consumer=intent.consumer,
        attempt=intent.attempt,
        generation=1,
        type=batch.consumer_type,
        project=batch.project,
        user=batch.user,
        state=ClaimState.PREPARED,
        host=chosen.host,
        allocations=_asked(batch, chosen),
        request_id=batch.request_id,
        created_ms=now,
        deadline_ms=now + batch.ttl_ms,
        alternates=tuple(candidate.host for candidate in following),
        group=batch.group,
    )


def _asked(batch: Batch, candidate: Candidate) -> Allocations:
    return {candidate.host: batch.resources} if candidate.allocations is None else candidate.allocations


def _judge(partition: Partition, batch: Batch, candidate: Candidate, plan: Plan) -> Verdict:
    asked = _asked(batch, candidate)
    if candidate.host not in partition.capacity:
        return Verdict.UNKNOWN
    is_stale = any(partition.eligible.get(name, 0) > batch.position for name in _speaking(candidate.host, asked))
    if not _known(partition, asked):
        # What is gone from a tree that changed was there when it was decided on.
        return Verdict.STALE if is_stale else Verdict.UNKNOWN
    if not all(partition.is_open(provider) for provider in (candidate.host, *asked)):
        return Verdict.CLOSED
    if is_stale:
        return Verdict.STALE
    if not all(_fits(partition, provider, amounts, plan) for provider, amounts in asked.items()):
        return Verdict.CONCURRENT if _has_changed(partition, batch, candidate) else Verdict.FULL
    return Verdict.FITS if _group_allows(batch, candidate.host, plan) else Verdict.GROUP


def _speaking(host: str, asked: Allocations) -> set[str]:
    """Return whose eligibility a candidate depends on: its host's, each provider's, and that of their service hosts."""
    own = {host, *asked}
    return own | {names.host_of(name) for name in own}


def _has_changed(partition: Partition, batch: Batch, candidate: Candidate) -> bool:
    """Tell whether the sums or inventories of what is asked for changed since they were decided on."""
    seen = candidate.seen or batch.position
    return any(partition.changed.get(provider, 0) > seen for provider in _asked(batch, candidate))


def _known(partition: Partition, asked: Allocations) -> bool:
    return all(
        resource_class in partition.capacity.get(provider, {})
        for provider, amounts in asked.items()
        for resource_class in amounts
    )


def _fits(partition: Partition, provider: str, amounts: Mapping[str, int], plan: Plan) -> bool:
    held, used = partition.capacity[provider], partition.used.get(provider, {})
    for resource_class, amount in amounts.items():
        unit = held[resource_class]
        capacity, least, most, step = (unit, 1, unit, 1) if isinstance(unit, int) else unit
        in_use = used.get(resource_class, 0) + plan.deltas.get((provider, resource_class), 0)
        if in_use + amount > capacity or not least <= amount <= most or amount % step:
            return False
    return True


def _group_allows(batch: Batch, host: str, plan: Plan) -> bool:
    if batch.group is None:
        return True
    if batch.group.policy is GroupPolicy.ANTI_AFFINITY:
        return plan.in_group.get(host, 0) < batch.group.max_per_host
    if batch.group.policy is not GroupPolicy.AFFINITY:
        return True
    return all(other == host for other, count in plan.in_group.items() if count > 0)
