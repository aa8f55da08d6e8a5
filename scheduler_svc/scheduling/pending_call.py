# SPDX-License-Identifier: Apache-2.0
"""State of a call between tries, until it is claimed or refused."""

from collections.abc import Mapping
from dataclasses import dataclass

from rpcapi import errors
from rpcapi.resources.claims import Answer, Verdict
from scheduler_svc.core.records import BatchAnswer, ClaimBatch
from scheduler_svc.core.table.partition import LogPosition
from scheduler_svc.scheduling import refusals
from scheduler_svc.scheduling.calls import SelectionCall, SelectionOutcome, ServedCall
from scheduler_svc.scheduling.group_members import add_group_members
from scheduler_svc.scheduling.interfaces import DecisionStore
from scheduler_svc.scheduling.ranking import RankingSnapshot, SchedulingPolicy


@dataclass(frozen=True, slots=True)
class DecidedTry:
    snapshot: RankingSnapshot
    batch: ClaimBatch
    answer: BatchAnswer


class PendingCall:
    """Call with its current try: ``begin_try``, decide, ``take``; repeat until ``outcome`` is set."""

    def __init__(
        self,
        policy: SchedulingPolicy,
        call: SelectionCall,
        *,
        partition: str,
        max_tries: int,
        snapshot: RankingSnapshot | None = None,
    ) -> None:
        self.outcome: SelectionOutcome | None = None
        self.policy = policy
        self.call = call
        self.request = call.request  # during a try, with the members of its server group
        self.snapshot = snapshot  # ranking for the next try, if already made
        self.retry = 0  # number of earlier tries
        self.lost_candidates: Mapping[str, Verdict] = {}  # the store's verdicts on candidates that earlier tries lost
        self._partition = partition
        self._max_tries = max_tries
        self._first_answered: LogPosition | None = None  # the store's position in its first current answer
        self.may_hold_claims = True  # The partition may have claims of an equal earlier call.
        # {reason: hosts} of the last current try: rejected by its ranking, or refused by the store.
        self.rejected_counts: Mapping[str, int] = {}
        self.lost_counts: Mapping[str, int] = {}
        self._refusal: errors.GanttError = errors.NotReady(
            what="This scheduler worker", why="the store has begun a new epoch that it has not read yet"
        )

    @property
    def count(self) -> int:
        return len(self.call.consumers)

    def is_like(self, other: "PendingCall") -> bool:
        """Return whether both calls rank hosts identically, so that one ranking serves both."""
        return (
            (self.policy, self.retry, self.call.explains) == (other.policy, other.retry, other.call.explains)
            and self.snapshot is other.snapshot is None
            and self.request.is_like(other.request)
        )

    def begin_try(self, store: DecisionStore) -> bool:
        """Begin the next try. Return False if the outcome is already decided, for example by the deadline."""
        try:
            self.call.ctxt.check_deadline()
            self.request = self.call.request
            if self.request.group is not None and (self.snapshot is None or self.snapshot.group_hosts is None):
                # This ranking was made without the group's members: read them from the store, and rank again.
                self.request, self.snapshot = add_group_members(store, self.call), None
        except errors.GanttError as error:
            self.outcome = error
            return False
        if self.lost_candidates:
            self.request = self.request.with_decision(lost_tries=self.retry)
        return True

    def take(self, decided: DecidedTry | errors.GanttError) -> None:
        if isinstance(decided, errors.GanttError):
            self.outcome = decided
        elif decided.answer.accepted and not decided.answer.claimed:
            hosts = [str(prepared.host) for prepared in decided.answer.prepared]
            self.outcome = errors.NotClaimed(request_id=self.call.request.id, hosts=hosts)
        elif decided.answer.accepted:
            group_hosts = decided.snapshot.group_hosts or ()
            batch = decided.batch
            self.outcome = ServedCall(
                decided.answer.prepared, batch.epoch, batch.position, self._partition, group_hosts
            )
        else:
            self.outcome = refusals.claim_error(decided.answer.prepared, self._partition) or self._lose(decided)

    def _lose(self, decided: DecidedTry) -> errors.GanttError | None:
        """Note the refused try. Return the call's refusal if no tries are left."""
        ranking, answer, batch = decided.snapshot.ranking, decided.answer, decided.batch
        verdicts = refusals.last_verdicts(batch.intents, answer.prepared, is_affinity=self.request.is_affinity)
        self.lost_candidates = refusals.merge_lost_candidates(self.lost_candidates, verdicts)
        is_true = False  # whether no host fitted at some time during the call
        if answer.current:
            self._first_answered = self._first_answered or LogPosition(answer.epoch, answer.position)
            is_true = not ranking.candidates and (batch.epoch, batch.position) >= self._first_answered
            self.rejected_counts, self.lost_counts = ranking.reasons, refusals.count_lost_candidates(verdicts)
            self.may_hold_claims = any(result.answer is Answer.PREPARED for result in answer.prepared)
            self._refusal = refusals.no_valid_host({**self.rejected_counts, **self.lost_counts})
        self.snapshot = None
        self.retry += 1
        return self._refusal if is_true or self.retry == self._max_tries else None
