# SPDX-License-Identifier: Apache-2.0
"""Decision rounds: calls ranked on the same table and claimed in one round trip. Each succeeds or fails alone."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import ParamSpec, TypeVar

from rpcapi import errors, tracing
from scheduler_svc import metrics
from scheduler_svc.core.records import BatchAnswer, ClaimBatch
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.decisions import claim_batch
from scheduler_svc.scheduling.interfaces import DecisionStore, ReplicaView
from scheduler_svc.scheduling.pending_call import DecidedTry, PendingCall
from scheduler_svc.scheduling.ranking import PlannedClaim, RankingSnapshot, SharedRanking

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


TakeSnapshot = Callable[..., RankingSnapshot]  # PartitionScheduler.take_snapshot


class DecisionRound:
    """Joint decision of several calls' tries in one partition. Thread-safe."""

    def __init__(self, store: DecisionStore, replica: ReplicaView, take_snapshot: TakeSnapshot, ttl_ms: int) -> None:
        self._store = store
        self._replica = replica
        self._take_snapshot = take_snapshot
        self._ttl_ms = ttl_ms

    def decide(self, tries: Sequence[PendingCall]) -> list[DecidedTry | Exception]:
        """Return each try's decision or error. Raises StoreUnavailable if it is unknown which tries were claimed."""
        metrics.ROUND_CALLS.observe(len(tries))
        with tracing.shared_span("scheduler.rank", (call_try.call.ctxt.request_id for call_try in tries)):
            decisions = [
                _attempt(self._build, call_try, snapshot, number, len(tries))
                for number, (call_try, snapshot) in enumerate(zip(tries, self._rank(tries), strict=True))
            ]
        batches = [decision[1] for decision in decisions if not isinstance(decision, Exception)]
        with tracing.shared_span("scheduler.claim", (batch.request_id for batch in batches)):
            answers = iter(self._prepare(batches) if batches else ())
        return [
            decision if isinstance(decision, Exception) else self._apply(*decision, next(answers))
            for decision in decisions
        ]

    def _prepare(self, batches: Sequence[ClaimBatch]) -> list[BatchAnswer | errors.GanttError]:
        with metrics.CLAIM_SECONDS.time():
            outcomes, entries = self._store.prepare_all(batches, self._replica.log_position.position)
        if entries is not None:
            epochs = {outcome.epoch for outcome in outcomes if isinstance(outcome, BatchAnswer)}
            self._replica.apply_carried(entries, epochs)
        return outcomes

    def _apply(
        self, snapshot: RankingSnapshot, batch: ClaimBatch, answer: BatchAnswer | errors.GanttError
    ) -> DecidedTry | errors.GanttError:
        if isinstance(answer, errors.GanttError):
            return answer
        table, number = self._replica.table, self._replica.number
        table.apply_used(answer.used, answer.position, number)
        return DecidedTry(snapshot, batch, answer)

    def _build(
        self, call_try: PendingCall, snapshot: RankingSnapshot | Exception, round_index: int, round_size: int
    ) -> tuple[RankingSnapshot, ClaimBatch]:
        if isinstance(snapshot, Exception):
            raise snapshot
        log_position = snapshot.log_positions[self._replica.number]
        if call_try.request.decision.group_epoch not in (None, log_position.epoch):
            raise errors.NotReady(
                what="This scheduler worker",
                why="the store has begun a new epoch since the server group's partition was agreed on",
            )
        batch = claim_batch(
            call_try,
            snapshot,
            log_position,
            last_contact_s=self._replica.last_contact_s,
            ttl_ms=self._ttl_ms,
            round_index=round_index,
            round_size=round_size,
        )
        call_try.call.ctxt.check_deadline()
        return snapshot, batch

    def _rank(self, tries: Sequence[PendingCall]) -> list[RankingSnapshot | Exception]:
        """Return the ranking of each try. Tries whose requests differ only in ids share a ranking."""
        rankings: dict[int, RankingSnapshot | Exception] = {}
        alike: list[list[int]] = []
        for number, call_try in enumerate(tries):
            if call_try.snapshot is not None:
                rankings[number] = call_try.snapshot
            elif isinstance(late := _attempt(call_try.call.ctxt.check_deadline), Exception):
                rankings[number] = late
            else:
                same = next((numbers for numbers in alike if tries[numbers[0]].is_like(call_try)), None)
                if same is None:
                    alike.append([number])
                else:
                    same.append(number)
        is_contended = len(tries) > 1
        planned: list[PlannedClaim] = []
        crowded_out: list[list[int]] = []
        with self._replica.table.planning(self._replica.number) as plan:
            for numbers in alike:
                ranked = self._rank_alike([tries[number] for number in numbers], is_contended)
                if planned and not all(map(_has_candidates, ranked)):
                    crowded_out.append(numbers)
                    continue
                rankings.update(zip(numbers, (_after(snapshot, planned) for snapshot in ranked), strict=True))
                if numbers is not alike[-1]:
                    # Rank the next requests as if these claims were already made.
                    expected = [
                        claim
                        for number, snapshot in zip(numbers, ranked, strict=True)
                        for claim in _expected_claims(tries[number].call, snapshot)
                    ]
                    for claim in expected:
                        plan(*claim)
                    planned = [*planned, *expected]
        for numbers in crowded_out:  # planned claims may fail, so they must not cause refusals
            ranked = self._rank_alike([tries[number] for number in numbers], is_contended)
            rankings.update(zip(numbers, ranked, strict=True))
        return [rankings[number] for number in range(len(tries))]

    def _rank_alike(self, tries: Sequence[PendingCall], is_contended: bool) -> Sequence[RankingSnapshot | Exception]:
        if len(tries) > 1:
            shared = _attempt(self._snapshot, tries[0], sum(call_try.count for call_try in tries), is_contended)
            if not isinstance(shared, Exception) and _has_candidates(shared):
                return _split(shared, [call_try.count for call_try in tries])
        # Some do not fit, or a plugin failed. Rank each call alone, except where the result is already known.
        refused: dict[int, RankingSnapshot] = {}
        rankings: list[RankingSnapshot | Exception] = []
        for call_try in tries:
            if call_try.count in refused:
                rankings.append(refused[call_try.count])
                continue
            ranking = _attempt(self._snapshot, call_try, call_try.count, is_contended)
            if not isinstance(ranking, Exception) and not _has_candidates(ranking):
                refused[call_try.count] = ranking
            rankings.append(ranking)
        return rankings

    def _snapshot(self, call_try: PendingCall, count: int, is_contended: bool) -> RankingSnapshot:
        request = call_try.request.with_decision(is_contended=True) if is_contended else call_try.request
        snapshot = self._take_snapshot(call_try.policy, request, count, call_try.retry, explains=call_try.call.explains)
        return replace(snapshot, group_hosts=request.decision.group_hosts)


def _has_candidates(snapshot: RankingSnapshot | Exception) -> bool:
    return not isinstance(snapshot, Exception) and bool(snapshot.ranking.candidates)


def _after(snapshot: RankingSnapshot | Exception, planned: Sequence[PlannedClaim]) -> RankingSnapshot | Exception:
    """Add the planned claims to the snapshot.

    If a planned claim is on a selected host, set ``near`` to 1: the ranking already counts that claim, so the store
    must not prefer a different near candidate because of it.
    """
    if isinstance(snapshot, Exception) or not planned:
        return snapshot
    ranking = snapshot.ranking
    if {names[0] for names in ranking.candidates} & {claim.host for claim in planned}:
        ranking = replace(ranking, near=1)
    return replace(snapshot, ranking=ranking, planned=planned)


def _expected_claims(call: SelectionCall, snapshot: RankingSnapshot | Exception) -> Iterator[PlannedClaim]:
    if isinstance(snapshot, Exception):
        return
    ranking = snapshot.ranking
    for number, (host, *_) in enumerate(ranking.candidates):
        allocations = ranking.allocations[number] if ranking.allocations else {}
        own = allocations.get(host, {host: call.request.resources})
        yield PlannedClaim(host, own)


def _split(snapshot: RankingSnapshot, counts: Sequence[int]) -> list[RankingSnapshot]:
    """Split a shared ranking into one snapshot per call, with ``counts`` instances each.

    The ranking already counts the instances of earlier calls, so the store must not prefer a different near candidate
    because of their claims.
    """
    parts, first, ranking = [], 0, snapshot.ranking
    assigned: set[str] = set()
    for count in counts:
        own = slice(first, first + count)
        hosts = {names[0] for names in ranking.candidates[own]}
        near = ranking.nears[first] if count == 1 and ranking.nears and not hosts & assigned else 1
        assigned |= hosts
        part = replace(
            ranking, candidates=ranking.candidates[own], allocations=ranking.allocations[own], near=near, nears=()
        )
        parts.append(replace(snapshot, ranking=part, shared=SharedRanking(first, sum(counts))))
        first += count
    return parts


def _attempt(
    work: Callable[Arguments, Result], *arguments: Arguments.args, **options: Arguments.kwargs
) -> Result | Exception:
    try:
        return work(*arguments, **options)
    except Exception as error:
        return error
