# SPDX-License-Identifier: Apache-2.0
"""Decisions in one partition: ranking of hosts, claims in the store, and retries of lost claims."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from oslo_log import log

from rpcapi import errors
from rpcapi.context import RequestContext
from rpcapi.resources.claims import Verdict
from rpcapi.rounds import RoundLimits, Rounds
from scheduler_svc import metrics
from scheduler_svc.core.drivers.driver import LARGE_REQUEST
from scheduler_svc.core.records import BatchAnswer, IntentResult
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.partition import LogPosition
from scheduler_svc.scheduling.batch import BatchRanker
from scheduler_svc.scheduling.calls import RefusedCall, SelectionCall, SelectionOutcome, ServedCall
from scheduler_svc.scheduling.decision_round import DecisionRound
from scheduler_svc.scheduling.decisions import record_refusal
from scheduler_svc.scheduling.interfaces import DecisionStore, ReplicaView
from scheduler_svc.scheduling.pending_call import DecidedTry, PendingCall
from scheduler_svc.scheduling.ranking import RankingSnapshot, SchedulingPolicy, rank_hosts

LOG = log.getLogger(__name__)

LARGEST_IN_ROUND = LARGE_REQUEST  # instances of one call that may share a round; larger calls run alone
ROUND_SIZE = 4 * LARGEST_IN_ROUND  # instances per round; the scripts of a round take a few milliseconds


@dataclass(frozen=True, slots=True)
class SchedulingLimits:
    max_tries: int = 3
    ttl_ms: int = 60_000
    catch_up_s: float = 2.0
    round_limit: int = LARGEST_IN_ROUND  # instances of one project per round while a different project waits
    window_s: float = 0.0  # time in which calls gather to be ranked together; 0 ranks each call alone
    max_batch: int = 1  # number of calls at which the window closes


class PartitionScheduler:
    """One worker's decisions in one partition, by rounds; a large call runs alone. Thread-safe."""

    def __init__(
        self,
        store: DecisionStore,
        replica: ReplicaView,
        limits: SchedulingLimits,
        rank: Callable[..., RankingSnapshot] = rank_hosts,
    ) -> None:
        """``rank`` is called like ``rank_hosts``."""
        self.store = store
        self._rank = rank
        self._replica = replica
        self._limits = limits
        self._round = DecisionRound(store, replica, self.take_snapshot, limits.ttl_ms)
        self._rounds = Rounds(self._round.decide, RoundLimits(ROUND_SIZE, limits.round_limit))
        self._batch_ranker = BatchRanker(store, replica, limits.window_s, limits.max_batch)

    @property
    def partition(self) -> str:
        return self._replica.partition

    @property
    def number(self) -> int:
        return self._replica.number

    def select(self, policy: SchedulingPolicy, call: SelectionCall) -> ServedCall:
        """Select and claim a host for every consumer, or for none.

        Calls in the same window are ranked together. While its claims are live, a repeated call returns the same
        answer. Raises NoValidHost, UnknownHost for an unknown forced host, ClaimEnded if the attempt has ended,
        ClaimConflict if a different attempt is live, DeadlinePassed, NotReady and StoreUnavailable.
        """
        outcome = self.schedule(policy, call, self._batch_ranker.rank_in_window(policy, call))
        if isinstance(outcome, RefusedCall):
            raise outcome.error
        return outcome

    def select_batch(self, policy: SchedulingPolicy, calls: Sequence[SelectionCall]) -> list[SelectionOutcome]:
        """Return each call's claims or error. Calls that could not be ranked together come last."""
        snapshots = self._batch_ranker.rank_together(policy, calls)
        pending = [self._pending(policy, *row) for row in zip(calls, snapshots, strict=True)]
        ranked = [pending_call for pending_call in pending if pending_call.snapshot is not None]
        others = [pending_call for pending_call in pending if pending_call.snapshot is None]
        for part in (ranked, others):
            self._schedule(part, self._decide_together)
        return [self._conclude(pending_call) for pending_call in pending]

    def schedule(
        self, policy: SchedulingPolicy, call: SelectionCall, snapshot: RankingSnapshot | None = None
    ) -> ServedCall | RefusedCall:
        """Select like ``select``, but return a refusal unless claims of the call may remain."""
        pending = self._pending(policy, call, snapshot)
        self._schedule([pending], self._decide_beside_others)
        outcome = self._conclude(pending)
        if isinstance(outcome, errors.NoValidHost) and not pending.may_hold_claims:
            return RefusedCall(outcome, pending.rejected_counts, pending.lost_counts)
        if isinstance(outcome, errors.GanttError):
            raise outcome
        return outcome

    def catch_up(self, ctxt: RequestContext, decided_at: LogPosition) -> bool:
        """Apply the log up to the store's position. Return whether that is later than ``decided_at``."""
        try:
            current = LogPosition(*self.store.begin_epoch_if_behind(0, 0))
        except errors.Unavailable:
            return False
        catch_up_s = self._limits.catch_up_s
        return decided_at < current and self._replica.reach(
            current.position, min(catch_up_s, ctxt.remaining(catch_up_s))
        )

    def take_snapshot(
        self,
        policy: SchedulingPolicy,
        request: SchedulingRequest,
        count: int,
        salt: int = 0,
        *,
        explains: bool = False,
    ) -> RankingSnapshot:
        with self._replica.table.reading() as view:
            return self._rank(policy, view, request, count, request.seed ^ salt, explains=explains)

    def _pending(self, policy: SchedulingPolicy, call: SelectionCall, snapshot: RankingSnapshot | None) -> PendingCall:
        """Return the call before its first try. An unknown forced host decides it without a try."""
        pending = PendingCall(
            policy, call, partition=self.partition, max_tries=self._limits.max_tries, snapshot=snapshot
        )
        if error := self._unknown_forced_host(policy, call):
            pending.take(error)
        return pending

    def _schedule(
        self,
        pending: Sequence[PendingCall],
        decide: Callable[[Sequence[PendingCall]], Sequence[DecidedTry | Exception]],
    ) -> None:
        tries = self._next_tries(pending)
        while tries:
            position = 0
            for pending_call, decided in zip(tries, decide(tries), strict=True):
                if isinstance(decided, DecidedTry):
                    _count(decided.answer)
                    position = max(position, decided.answer.position)
                elif not isinstance(decided, errors.GanttError):
                    raise decided
                pending_call.take(decided)
            waiting = [pending_call for pending_call in pending if pending_call.outcome is None]
            if waiting:
                metrics.CONFLICTS.inc(len(waiting))
                catch_up_s = self._limits.catch_up_s
                remaining = [pending_call.call.ctxt.remaining(catch_up_s) for pending_call in waiting]
                self._replica.reach(position, min(catch_up_s, *remaining))
            tries = self._next_tries(pending)

    def _next_tries(self, pending: Sequence[PendingCall]) -> list[PendingCall]:
        return [
            pending_call
            for pending_call in pending
            if pending_call.outcome is None and pending_call.begin_try(self.store)
        ]

    def _decide_beside_others(self, tries: Sequence[PendingCall]) -> Sequence[DecidedTry | Exception]:
        (call_try,) = tries
        if call_try.count > LARGEST_IN_ROUND:
            return self._round.decide(tries)
        return [self._rounds.call(call_try, call_try.call.ctxt.project_id or "", call_try.count)]

    def _decide_together(self, tries: Sequence[PendingCall]) -> Sequence[DecidedTry | Exception]:
        decided: list[DecidedTry | Exception] = []
        for chunk in _chunks(tries):
            try:
                decided += self._round.decide(chunk)
            except errors.StoreUnavailable as error:
                decided += [error] * len(chunk)
        return decided

    def _conclude(self, pending: PendingCall) -> SelectionOutcome:
        outcome = pending.outcome
        assert outcome is not None  # noqa: S101 - no tries are left
        if isinstance(outcome, ServedCall):
            # Debug only: a log line costs a fifteenth of the call, and the caller logs the request id.
            LOG.debug("Selected hosts for %d instances", len(outcome.prepared))
        elif isinstance(outcome, errors.NoValidHost):
            LOG.info("Refused: %s", outcome)
        return outcome

    def _unknown_forced_host(self, policy: SchedulingPolicy, call: SelectionCall) -> errors.UnknownHost | None:
        for name in call.request.force_hosts:
            if not self._replica.table.find_partitions(name):
                error = errors.UnknownHost(name=name)
                with self._replica.table.reading() as view:
                    log_position = view.log_positions[self._replica.number]
                record_refusal(self.store, call, log_position, policy.driver_name(call.request), error)
                return error
        return None


def _is_first_choice(result: IntentResult) -> bool:
    """Return whether no candidate was lost to other claims. PASSED means only that a candidate was no longer better."""
    return bool(result.verdicts) and set(result.verdicts) <= {Verdict.FITS, Verdict.PASSED}


def _count(answer: BatchAnswer) -> None:
    for verdict, times in Counter(verdict for result in answer.prepared for verdict in result.verdicts).items():
        metrics.VERDICTS.labels(verdict=verdict).inc(times)
    if answer.accepted:
        metrics.FIRST_CHOICES.inc(sum(_is_first_choice(result) for result in answer.prepared))
        metrics.INSTANCES_PLACED.inc(sum(result.is_new for result in answer.prepared))


def _chunks(tries: Sequence[PendingCall]) -> Iterator[list[PendingCall]]:
    """Split tries into rounds of at most ROUND_SIZE instances. A larger try gets a round of its own."""
    chunk: list[PendingCall] = []
    size = 0
    for call_try in tries:
        if chunk and size + call_try.count > ROUND_SIZE:
            yield chunk
            chunk, size = [], 0
        chunk.append(call_try)
        size += call_try.count
    if chunk:
        yield chunk
