# SPDX-License-Identifier: Apache-2.0
"""A call in one partition on its way from try to try, until it is claimed or refused."""

from collections.abc import Mapping
from dataclasses import dataclass

from rpcapi import errors
from rpcapi.context import RequestContext
from rpcapi.resources.claims import Answer, Verdict
from scheduler_svc.core.records import BatchAnswer, ClaimBatch
from scheduler_svc.scheduling import refusals
from scheduler_svc.scheduling.calls import SelectionCall, SelectionOutcome, ServedCall
from scheduler_svc.scheduling.decision_store import DecisionStore
from scheduler_svc.scheduling.policy import SchedulingPolicy
from scheduler_svc.scheduling.ranking import RankingSnapshot
from scheduler_svc.scheduling.server_groups import add_group_members


@dataclass(frozen=True, slots=True)
class DecidedTry:
    """What a try was decided on, its batch for the store, and the store's answer."""

    snapshot: RankingSnapshot
    batch: ClaimBatch
    answer: BatchAnswer


class PendingCall:
    """A call with its present try, and its ``outcome`` once there is one: an error is the one to raise.

    ``begin_try``, have it decided, and ``take`` what was decided, until there is an outcome. Of the try, ``retry`` is 0
    for the first one, ``request`` is the call's with the members of its server group, ``snapshot`` the ranking if there
    is one already, and ``lost_candidates`` has the store's verdicts on the candidates that earlier tries lost.
    ``may_hold_claims``: the partition may hold claims of a refused call, from an earlier one.
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
        self.outcome: SelectionOutcome | None = None
        self.policy = policy
        self.ctxt = ctxt
        self.call = call
        self.request = call.request
        self.snapshot = snapshot
        self.retry = 0
        self.lost_candidates: Mapping[str, Verdict] = {}
        self._partition = partition
        self._max_tries = max_tries
        self.may_hold_claims = True
        self._refusal: errors.GanttError = errors.NotReady(
            what="This scheduler worker", why="the store has begun a new epoch that it has not read yet"
        )

    @property
    def count(self) -> int:
        """The number of instances."""
        return len(self.call.consumers)

    def is_like(self, other: "PendingCall") -> bool:
        """Return whether hosts pass and score alike for the tries of both."""
        return (
            (self.policy, self.retry, self.call.explains) == (other.policy, other.retry, other.call.explains)
            and self.snapshot is other.snapshot is None
            and self.request.is_like(other.request)
        )

    def begin_try(self, store: DecisionStore) -> bool:
        """Begin the next try; return False where there is none, such as after the deadline, which is the outcome."""
        try:
            self.ctxt.check_deadline()
            self.request = self.call.request
            if self.request.group is not None and (self.snapshot is None or self.snapshot.group_hosts is None):
                # A ranking without members is of a batch that was refused: the store's present ones are read.
                self.request, self.snapshot = add_group_members(store, self.call), None
        except errors.GanttError as error:
            self.outcome = error
            return False
        if self.retry:
            self.request = self.request.with_decision(lost_tries=self.retry)
        return True

    def take(self, decided: DecidedTry | errors.GanttError) -> None:
        """Take what became of the try."""
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
        """Learn from a try that was refused; return the refusal of the call if there are no more tries."""
        ranking, answer = decided.snapshot.ranking, decided.answer
        verdicts = refusals.last_verdicts(decided.batch.intents, answer.prepared)
        self.lost_candidates = refusals.merge_lost_candidates(self.lost_candidates, verdicts)
        if answer.current:
            reasons = {**ranking.reasons, **refusals.count_lost_candidates(verdicts)}
            self.may_hold_claims = any(result.answer is Answer.PREPARED for result in answer.prepared)
            self._refusal = refusals.no_valid_host(reasons)
        self.snapshot = None
        self.retry += 1
        is_last = self.retry == self._max_tries or (answer.current and not ranking.candidates)
        return self._refusal if is_last else None
