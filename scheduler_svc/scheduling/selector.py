# SPDX-License-Identifier: Apache-2.0
"""The decision in one partition: ranks hosts on the table, claims them in the store, and retries lost claims."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from oslo_log import log

from rpcapi import errors
from rpcapi.context import RequestContext
from rpcapi.resources.claims import Answer, Verdict
from scheduler_svc import metrics
from scheduler_svc.core.drivers.driver import Driver, Ranking
from scheduler_svc.core.records import BatchAnswer, ClaimRef, IntentResult
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.core.table.view import View
from scheduler_svc.core.trees.ranking import rank
from scheduler_svc.scheduling import refusals
from scheduler_svc.scheduling.calls import RefusedCall, SelectionCall, SelectionResult
from scheduler_svc.scheduling.claimer import CHUNK, Claimer, DecisionRecorder
from scheduler_svc.scheduling.decisions import DecisionBuilder, RankingSnapshot, refusal_document
from scheduler_svc.scheduling.replica_view import ReplicaView

LOG = log.getLogger(__name__)

# Answers for a claim in a final state, which no verb can revive.
_FINAL_ANSWERS = (Answer.ABORTED, Answer.EXPIRED, Answer.RELEASED)


@dataclass(frozen=True, slots=True)
class RetryLimits:
    """Limits on retries of a decision; see the options of [scheduler]."""

    max_tries: int = 3
    ttl_ms: int = 60_000
    catch_up_s: float = 2.0


class PlacedChunk(NamedTuple):
    """The accepted claims of one chunk, and the decision that they came from."""

    decision: DecisionBuilder
    answer: BatchAnswer


class Selector:
    """Decides in one partition for one worker; safe to call from many threads."""

    def __init__(
        self,
        claimer: Claimer,
        replica: ReplicaView,
        driver: Driver,
        limits: RetryLimits,
        record: DecisionRecorder | None = None,
    ) -> None:
        self._claimer = claimer
        self._replica = replica
        self.driver = driver  # replaced when the configuration is reloaded
        self._limits = limits
        self._record_refusal = record  # records refusals that never reach the claim script, which records all others

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

    @property
    def last_contact_s(self) -> float:
        """Seconds since the partition's store last answered, with news or without."""
        return self._replica.last_contact_s

    def select(self, ctxt: RequestContext, call: SelectionCall) -> SelectionResult:
        """Select and claim a host for every consumer, or for none.

        A repeated call returns the same answer while its claims live. Raises NoValidHost, UnknownHost for an unknown
        forced host, DeadlinePassed, ClaimEnded or ClaimConflict where the attempt has ended or another one lives,
        NotReady and StoreUnavailable.
        """
        outcome = self.place(ctxt, call)
        if isinstance(outcome, RefusedCall):
            raise outcome.error
        return outcome

    def place(
        self, ctxt: RequestContext, call: SelectionCall, snapshot: RankingSnapshot | None = None
    ) -> SelectionResult | RefusedCall:
        """Select as ``select`` does, but return a refusal. The first try uses ``snapshot``, if there is one."""
        self._check_forced_hosts(call)
        prepared: list[IntentResult] = []
        new_claims: list[ClaimRef] = []
        tries = 0
        for start in range(0, len(call.consumers), CHUNK):
            try:
                chunk = self._place(ctxt, call, start, None if start else snapshot)
            except errors.ClaimError:
                # Final. After an outage the caller repeats the call instead and gets these claims back; or they expire.
                self._abort_claims(new_claims)
                raise
            if isinstance(chunk, RefusedCall):
                LOG.info("Refused: %s", chunk.error)
                has_earlier_claims = len(prepared) > len(new_claims)
                return replace(
                    chunk,
                    may_hold_claims=not self._abort_claims(new_claims) or has_earlier_claims or chunk.may_hold_claims,
                )
            # A result with verdicts was claimed just now; a claim of an earlier call is left to that call.
            new_claims += [
                ClaimRef(result.consumer, result.attempt) for result in chunk.answer.prepared if result.verdicts
            ]
            prepared += chunk.answer.prepared
            log_position = chunk.decision.log_position
            tries += chunk.decision.retry + 1
        metrics.INSTANCES_PLACED.inc(len(new_claims))
        # Debug only: the caller logs the request id, `explain` has the details, and a log line costs a fifteenth of
        # the call.
        LOG.debug("Selected hosts for %d instances in %d tries", len(prepared), tries)
        return SelectionResult(prepared, *log_position, self._replica.partition)

    def take_snapshot(self, request: SchedulingRequest, count: int, salt: int = 0) -> RankingSnapshot:
        """Rank hosts of all partitions that the request allows, for ``count`` instances."""
        seed = request.seed ^ salt
        with self._replica.table.reading() as view:
            began = time.perf_counter()
            ranking = rank(self.driver, view, request, count, seed)
            metrics.DECISION_SECONDS.observe(time.perf_counter() - began)
            homes = view.partitions.numbers({name for names in ranking.candidates for name in names})
            # Collecting host names is expensive: only for a refusal.
            samples = {} if ranking.candidates else {**self.driver.rejected_samples(view, request), **ranking.samples}
            return RankingSnapshot(
                ranking,
                seed,
                view.partitions.log_positions,
                homes,
                _claimed_positions(view, ranking, homes),
                samples=samples,
            )

    def _place(
        self, ctxt: RequestContext, call: SelectionCall, start: int, snapshot: RankingSnapshot | None
    ) -> PlacedChunk | RefusedCall:
        """Claim hosts for one chunk, with as many tries as the limits allow."""
        request = self.add_group_members(call.request)
        count = len(call.consumers[start : start + CHUNK])
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
            self._check_deadline(ctxt, start)
            if snapshot is None or (request.group is not None and not snapshot.has_group_members):
                snapshot = self.take_snapshot(request, count, start + retry)
            decision = DecisionBuilder(
                call,
                start,
                retry,
                snapshot,
                snapshot.log_positions[self._replica.number],
                self.driver.name_for(request),
                self._replica.last_contact_s,
                lost_candidates,
            )
            batch = decision.batch(ctxt, self._limits.ttl_ms)
            self._check_deadline(ctxt, start)
            answer = self._claimer.prepare(batch)
            self._apply_answer(answer)
            if answer.accepted:
                return PlacedChunk(decision, answer)
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
            request, snapshot = _exclude_group_hosts(request, verdicts), None
            catch_up_s = self._limits.catch_up_s
            self._replica.reach(answer.position, min(catch_up_s, ctxt.remaining(catch_up_s)))
        return refused_call

    @staticmethod
    def _check_deadline(ctxt: RequestContext, start: int) -> None:
        """Raise DeadlinePassed before the first chunk only; a half claimed request is finished, for a repeated call."""
        if start == 0:
            ctxt.check_deadline()

    def add_group_members(self, request: SchedulingRequest) -> SchedulingRequest:
        """Return the request with the current members of its server group; the claim script checks the policy again."""
        if request.group is None:
            return request
        members = self._claimer.group_hosts(request.group.id)
        if request.is_affinity:
            return replace(request, members=members, group_hosts=tuple(members))
        limit = request.max_instances_per_host  # None for soft policies
        full_hosts = tuple(host for host, count in members.items() if limit is not None and count >= limit)
        return replace(request, members=members, excluded_hosts=full_hosts)

    def _apply_answer(self, answer: BatchAnswer) -> None:
        self._replica.table.apply_used(answer.used, answer.position, self._replica.number)
        for verdict, times in Counter(verdict for result in answer.prepared for verdict in result.verdicts).items():
            metrics.VERDICTS.labels(verdict=verdict).inc(times)
        if answer.accepted:
            metrics.FIRST_CHOICES.inc(sum(_is_first_choice(result) for result in answer.prepared))

    def _abort_claims(self, refs: Sequence[ClaimRef]) -> bool:
        """Abort claims of this call; return whether all of them have ended."""
        answers = []
        for start in range(0, len(refs), CHUNK):
            try:
                answers += self._claimer.abort(refs[start : start + CHUNK])
            except errors.Unavailable as error:
                # The caller needs the refusal, not this error; these claims expire at their deadline.
                LOG.warning("Cannot abort %d claims, they will expire: %s", len(refs) - start, error)
                return False
        return all(result.answer in _FINAL_ANSWERS for result in answers)

    def _check_forced_hosts(self, call: SelectionCall) -> None:
        table = self._replica.table
        for name in call.request.force_hosts:
            if not table.find_partitions(name):
                error = errors.UnknownHost(name=name)
                self._record_early_refusal(call, error)
                raise error

    def _record_early_refusal(self, call: SelectionCall, cause: errors.GanttError) -> None:
        """Record a refusal that was decided without ranking hosts."""
        if self._record_refusal is None:
            return
        with self._replica.table.reading() as view:
            log_position = view.partitions.log_position(self._replica.number)
        try:
            self._record_refusal(
                call.request.id, refusal_document(call, log_position, self.driver.name_for(call.request), cause)
            )
        except errors.Unavailable as error:
            # The caller needs the refusal, not this error.
            LOG.warning("Cannot record the refusal of request %s: %s", call.request.id, error)


def _claimed_positions(view: View, ranking: Ranking, homes: Mapping[str, int]) -> dict[str, int]:
    """Return the log position of each candidate's sums, where it is later than its partition's.

    With several providers it is the position of the one known least.
    """
    providers_by_host = {name: {name} for name in homes}
    for host_allocations in ranking.allocations:
        for name, allocations in host_allocations.items():
            providers_by_host[name] |= allocations.keys()
    since = {
        name: min(view.partitions.sums_since(provider, homes[name]) for provider in providers)
        for name, providers in providers_by_host.items()
    }
    return {name: position for name, position in since.items() if position}


def _is_first_choice(result: IntentResult) -> bool:
    """Return whether no candidate was lost to other claims: those passed over were no longer better."""
    return bool(result.verdicts) and set(result.verdicts) <= {Verdict.FITS, Verdict.PASSED}


def _exclude_group_hosts(request: SchedulingRequest, verdicts: Mapping[str, Verdict]) -> SchedulingRequest:
    """Return the request without the hosts that the store refused by group policy: the table has no groups."""
    excluded_hosts = [host for host, verdict in verdicts.items() if verdict is Verdict.GROUP]
    return replace(request, excluded_hosts=(*request.excluded_hosts, *excluded_hosts)) if excluded_hosts else request
