# SPDX-License-Identifier: Apache-2.0
"""The decision in one partition: ranks hosts on the table, claims them in the store, and retries lost claims."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from oslo_log import log

from rpcapi import errors
from rpcapi.context import RequestContext
from rpcapi.resources.claims import Answer, Verdict
from scheduler_svc import metrics
from scheduler_svc.core.records import BatchAnswer, IntentResult
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.scheduling import refusals
from scheduler_svc.scheduling.calls import RefusedCall, SelectionCall, SelectionResult
from scheduler_svc.scheduling.claimer import Claimer
from scheduler_svc.scheduling.decisions import DecisionBuilder, refusal_document
from scheduler_svc.scheduling.policy import SchedulingPolicy
from scheduler_svc.scheduling.ranking import RankingSnapshot, rank_hosts
from scheduler_svc.scheduling.replica_view import ReplicaView
from scheduler_svc.scheduling.server_groups import add_group_members

LOG = log.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RetryLimits:
    """Limits on retries of a decision; see the options of [scheduler]."""

    max_tries: int = 3
    ttl_ms: int = 60_000
    catch_up_s: float = 2.0


class Selector:
    """Decides in one partition for one worker; safe to call from many threads."""

    def __init__(self, claimer: Claimer, replica: ReplicaView, limits: RetryLimits) -> None:
        self.claimer = claimer
        self._replica = replica
        self._limits = limits

    @property
    def partition(self) -> str:
        """The partition that it decides in."""
        return self._replica.partition

    @property
    def number(self) -> int:
        """The partition's number in the table."""
        return self._replica.number

    @property
    def table(self) -> HostTable:
        """This worker's host table."""
        return self._replica.table

    def select(self, policy: SchedulingPolicy, ctxt: RequestContext, call: SelectionCall) -> SelectionResult:
        """Select and claim a host for every consumer, or for none.

        A repeated call returns the same answer while its claims live. Raises NoValidHost, UnknownHost for an unknown
        forced host, DeadlinePassed, ClaimEnded or ClaimConflict where the attempt has ended or another one lives,
        NotReady and StoreUnavailable.
        """
        outcome = self.place(policy, ctxt, call)
        if isinstance(outcome, RefusedCall):
            raise outcome.error
        return outcome

    def place(
        self,
        policy: SchedulingPolicy,
        ctxt: RequestContext,
        call: SelectionCall,
        snapshot: RankingSnapshot | None = None,
    ) -> SelectionResult | RefusedCall:
        """Select as ``select`` does, but return a refusal. The first try uses ``snapshot``, if there is one."""
        self._check_forced_hosts(policy, call)
        outcome = self._place(policy, ctxt, call, snapshot)
        if isinstance(outcome, RefusedCall):
            LOG.info("Refused: %s", outcome.error)
            return outcome
        return self.claimer.conclude(call, outcome)

    def take_snapshot(
        self,
        policy: SchedulingPolicy,
        request: SchedulingRequest,
        count: int,
        salt: int = 0,
        *,
        explains: bool = False,
    ) -> RankingSnapshot:
        """Rank hosts of all partitions that the request allows on the current table, for ``count`` instances."""
        with self._replica.table.reading() as view:
            return rank_hosts(policy, view, request, count, request.seed ^ salt, explains=explains)

    def _place(
        self,
        policy: SchedulingPolicy,
        ctxt: RequestContext,
        call: SelectionCall,
        snapshot: RankingSnapshot | None,
    ) -> SelectionResult | RefusedCall:
        """Claim hosts for all instances by one script, with as many tries as the limits allow."""
        refused_call = RefusedCall(
            errors.NotReady(
                what="This scheduler worker", why="the store has begun a new epoch that it has not read yet"
            ),
            hosts=0,
            reasons={},
            may_hold_claims=True,
        )
        lost_candidates: Mapping[str, Verdict] = {}
        for retry in range(self._limits.max_tries):
            ctxt.check_deadline()
            if snapshot is None or (call.request.group is not None and snapshot.group_hosts is None):
                # A batch that was refused has no members: those that the store has now are read again.
                request = add_group_members(self.claimer, call)
                snapshot = replace(
                    self.take_snapshot(policy, request, len(call.consumers), retry, explains=call.explains),
                    group_hosts=request.decision.group_hosts,
                )
            decision = DecisionBuilder(
                call,
                retry,
                snapshot,
                snapshot.log_positions[self._replica.number],
                policy.driver.name_for(call.request),
                self._replica.last_contact_s,
                lost_candidates,
            )
            if call.request.decision.group_epoch not in (None, decision.log_position.epoch):
                raise errors.NotReady(
                    what="This scheduler worker",
                    why="the store has begun a new epoch since the server group's partition was agreed on",
                )
            batch = decision.batch(ctxt, self._limits.ttl_ms)
            ctxt.check_deadline()
            answer = self.claimer.prepare(batch)
            self._apply_answer(answer)
            if answer.accepted:
                # Debug only: the caller logs the request id, `explain` has the details, and a log line costs a
                # fifteenth of the call.
                LOG.debug("Selected hosts for %d instances in %d tries", len(answer.prepared), retry + 1)
                group_hosts = snapshot.group_hosts or ()
                return SelectionResult(answer.prepared, *decision.log_position, self._replica.partition, group_hosts)
            refusals.raise_claim_error(answer.prepared, self._replica.partition)
            verdicts = refusals.last_verdicts(batch.intents, answer.prepared)
            lost_candidates = refusals.merge_lost_candidates(lost_candidates, verdicts)
            if answer.current:
                reasons = {**snapshot.ranking.reasons, **refusals.count_lost_candidates(verdicts)}
                may_hold_claims = any(result.answer is Answer.PREPARED for result in answer.prepared)
                error = refusals.no_valid_host(snapshot.ranking.hosts, reasons)
                refused_call = RefusedCall(error, snapshot.ranking.hosts, reasons, may_hold_claims)
                if not snapshot.ranking.candidates:
                    break
            metrics.CONFLICTS.inc()
            snapshot = None
            catch_up_s = self._limits.catch_up_s
            self._replica.reach(answer.position, min(catch_up_s, ctxt.remaining(catch_up_s)))
        return refused_call

    def _apply_answer(self, answer: BatchAnswer) -> None:
        self._replica.table.apply_used(answer.used, answer.position, self._replica.number)
        for verdict, times in Counter(verdict for result in answer.prepared for verdict in result.verdicts).items():
            metrics.VERDICTS.labels(verdict=verdict).inc(times)
        if answer.accepted:
            metrics.FIRST_CHOICES.inc(sum(_is_first_choice(result) for result in answer.prepared))
            # A result without verdicts is a claim of an earlier call.
            metrics.INSTANCES_PLACED.inc(sum(bool(result.verdicts) for result in answer.prepared))

    def _check_forced_hosts(self, policy: SchedulingPolicy, call: SelectionCall) -> None:
        table = self._replica.table
        for name in call.request.force_hosts:
            if not table.find_partitions(name):
                error = errors.UnknownHost(name=name)
                self._record_early_refusal(policy, call, error)
                raise error

    def _record_early_refusal(self, policy: SchedulingPolicy, call: SelectionCall, cause: errors.GanttError) -> None:
        """Record a refusal that was decided without ranking hosts."""
        with self._replica.table.reading() as view:
            log_position = view.partitions.log_position(self._replica.number)
        try:
            document = refusal_document(call, log_position, policy.driver.name_for(call.request), cause)
            self.claimer.record_decision(call.request.id, document)
        except errors.Unavailable as error:
            # The caller needs the refusal, not this error.
            LOG.warning("Cannot record the refusal of request %s: %s", call.request.id, error)


def _is_first_choice(result: IntentResult) -> bool:
    """Return whether no candidate was lost to other claims: those passed over were no longer better."""
    return bool(result.verdicts) and set(result.verdicts) <= {Verdict.FITS, Verdict.PASSED}
