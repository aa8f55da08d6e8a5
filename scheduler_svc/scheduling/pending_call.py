# SPDX-License-Identifier: Apache-2.0
"""A call in one partition on its way from try to try, until it is claimed or refused."""

from collections.abc import Mapping

from rpcapi import errors
from rpcapi.context import RequestContext
from rpcapi.resources.claims import Answer, Verdict
from scheduler_svc.scheduling import refusals
from scheduler_svc.scheduling.calls import RefusedCall, SelectionCall, ServedCall
from scheduler_svc.scheduling.decision_round import CallTry, DecidedTry
from scheduler_svc.scheduling.decision_store import DecisionStore
from scheduler_svc.scheduling.policy import SchedulingPolicy
from scheduler_svc.scheduling.ranking import RankingSnapshot
from scheduler_svc.scheduling.server_groups import add_group_members

ScheduledOutcome = ServedCall | RefusedCall | errors.GanttError


class PendingCall:
    """A call, its tries so far, and its ``outcome`` once there is one: an error is the one to raise.

    Take the ``next_try``, have it decided, and ``take`` what was decided, until there is an outcome.
    """

    def __init__(
        self,
        policy: SchedulingPolicy,
        ctxt: RequestContext,
        call: SelectionCall,
        *,
        partition: str,
        max_tries: int,
        snapshot: RankingSnapshot | None = None,
    ) -> None:
        """``snapshot`` is the ranking of the first try, if there is one already."""
        self.outcome: ScheduledOutcome | None = None
        self.call = call
        self._policy = policy
        self.ctxt = ctxt
        self._partition = partition
        self._max_tries = max_tries
        self._snapshot = snapshot
        self._retry = 0
        self._lost_candidates: Mapping[str, Verdict] = {}
        self._refusal = RefusedCall(
            errors.NotReady(
                what="This scheduler worker", why="the store has begun a new epoch that it has not read yet"
            ),
            hosts=0,
            reasons={},
            may_hold_claims=True,
        )

    def next_try(self, store: DecisionStore) -> CallTry | None:
        """Return the next try; None where there can be none, such as after the deadline, which is the outcome then."""
        try:
            self.ctxt.check_deadline()
            request, snapshot = self.call.request, self._snapshot
            if request.group is not None and (snapshot is None or snapshot.group_hosts is None):
                # A ranking without members is of a batch that was refused: the store's present ones are read.
                request, snapshot = add_group_members(store, self.call), None
        except errors.GanttError as error:
            self.outcome = error
            return None
        if self._retry:
            request = request.with_decision(lost_tries=self._retry)
        return CallTry(self._policy, self.ctxt, self.call, request, self._retry, snapshot, self._lost_candidates)

    def take(self, decided: DecidedTry | errors.GanttError) -> None:
        """Take what became of the try."""
        if isinstance(decided, errors.GanttError):
            self.outcome = decided
        elif decided.answer.accepted and not decided.answer.claimed:
            hosts = [str(prepared.host) for prepared in decided.answer.prepared]
            self.outcome = errors.NotClaimed(request_id=self.call.request.id, hosts=hosts)
        elif decided.answer.accepted:
            group_hosts = decided.snapshot.group_hosts or ()
            self.outcome = ServedCall(decided.answer.prepared, *decided.log_position, self._partition, group_hosts)
        else:
            self.outcome = refusals.claim_error(decided.answer.prepared, self._partition) or self._lose(decided)

    def _lose(self, decided: DecidedTry) -> RefusedCall | None:
        """Learn from a try that was refused; return the refusal of the call if there are no more tries."""
        ranking, answer = decided.snapshot.ranking, decided.answer
        verdicts = refusals.last_verdicts(decided.batch.intents, answer.prepared)
        self._lost_candidates = refusals.merge_lost_candidates(self._lost_candidates, verdicts)
        if answer.current:
            reasons = {**ranking.reasons, **refusals.count_lost_candidates(verdicts)}
            may_hold_claims = any(result.answer is Answer.PREPARED for result in answer.prepared)
            error = refusals.no_valid_host(ranking.hosts, reasons)
            self._refusal = RefusedCall(error, ranking.hosts, reasons, may_hold_claims)
        self._snapshot = None
        self._retry += 1
        is_last = self._retry == self._max_tries or (answer.current and not ranking.candidates)
        return self._refusal if is_last else None
