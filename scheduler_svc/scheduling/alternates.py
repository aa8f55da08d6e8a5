# SPDX-License-Identifier: Apache-2.0
"""Claims on named candidates, such as alternates of an earlier decision, without a new ranking."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from rpcapi import errors
from rpcapi.context import RequestContext
from rpcapi.resources.claims import Answer, GroupPolicy, Verdict
from rpcapi.resources.trees.search import RETRY_FACTOR, NoCandidateReason
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.filters import compute
from scheduler_svc.core.records import UNLIMITED, Allocations, BatchAnswer, Candidate, ClaimBatch, Intent, IntentResult
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View
from scheduler_svc.core.trees.finder import AllocationFinder
from scheduler_svc.scheduling import failing_hosts
from scheduler_svc.scheduling.interfaces import ClaimStore, ReplicaView
from scheduler_svc.scheduling.ranking import CurrentPolicy, SchedulingPolicy

Rewrite = Callable[[SchedulingPolicy, SchedulingRequest], SchedulingRequest]


class PreparedBatch(NamedTuple):
    """Last batch sent to the store, and its answer."""

    intents: Sequence[Intent]
    answer: BatchAnswer


class AlternateClaimer:
    """Claims named candidates, possibly of a decision minutes ago. The store checks capacity and audits.

    If eligibility or the epoch has changed, or a provider tree does not fit, the candidates are filtered again on the
    current table and sent a second time. A later epoch may have forgotten that an affinity group left the partition.
    """

    def __init__(
        self, current: CurrentPolicy, store: ClaimStore, replica: ReplicaView, catch_up_s: float, rewrite: Rewrite
    ) -> None:
        self._current = current
        self._store = store
        self._replica = replica
        self._catch_up_s = catch_up_s
        self._rewrite = rewrite

    def prepare(self, ctxt: RequestContext, request: SchedulingRequest, batch: ClaimBatch) -> PreparedBatch:
        """Claim for all intents or none. Idempotent. Raises DeadlinePassed, NotReady and StoreUnavailable."""
        policy = self._current.policy
        batch = self._limit_claims(policy, request, batch)
        fitted = self._fit_to_current_trees(policy, request, batch)
        answer = self._claim(fitted)
        stale = any(Verdict.STALE in result.verdicts for result in answer.prepared)
        if answer.accepted or (answer.current and not stale and _kept_all_candidates(fitted, batch)):
            return PreparedBatch(fitted.intents, answer)
        self._replica.reach(answer.position, min(self._catch_up_s, ctxt.remaining(self._catch_up_s)))
        ctxt.check_deadline()
        replaced_allocations = () if _kept_all_candidates(fitted, batch) else self._replaced_allocations(batch)
        renewed = self._filter_again(policy, self._rewrite_request(policy, request), batch, replaced_allocations)
        renewed = self._limit_claims(policy, request, renewed)
        if renewed.epoch != batch.epoch and self._may_have_left(batch):
            renewed = _without_candidates(renewed)
        return PreparedBatch(renewed.intents, self._claim(renewed))

    def _limit_claims(self, policy: SchedulingPolicy, request: SchedulingRequest, batch: ClaimBatch) -> ClaimBatch:
        hosts = {candidate.host for intent in batch.intents for candidate in intent.candidates}
        with self._replica.table.reading() as view:
            homes = dict.fromkeys(hosts, self._replica.number)
            limits = pipeline.claim_limits(policy.eligibility, view, request, homes)
        if not limits:
            return batch
        intents = [
            replace(
                intent,
                candidates=[
                    replace(candidate, limits=limits.get(candidate.host, UNLIMITED)) for candidate in intent.candidates
                ],
            )
            for intent in batch.intents
        ]
        return replace(batch, intents=intents)

    def _may_have_left(self, batch: ClaimBatch) -> bool:
        """Return whether an affinity group has no members here: it may have left in a forgotten epoch."""
        group = batch.group
        return group is not None and group.policy is GroupPolicy.AFFINITY and not self._store.group_hosts(group.id)

    def _claim(self, batch: ClaimBatch) -> BatchAnswer:
        """Claim for all intents or none. Repeat without hosts that fit only some members of an affinity group."""
        verdicts: dict[str, Verdict] = {}  # Verdicts on hosts that are too small for all members.
        rest = batch
        while True:
            answer = self._store.prepare(rest)
            small_hosts = _too_small_hosts(rest, answer)
            if not small_hosts:
                return _with_verdicts(batch, answer, verdicts) if verdicts else answer
            verdicts |= small_hosts
            rest = _without_hosts(batch, verdicts)

    def _fit_to_current_trees(
        self, policy: SchedulingPolicy, request: SchedulingRequest, batch: ClaimBatch
    ) -> ClaimBatch:
        """Add allocations from provider trees for the rewritten request. Flat hosts need none."""
        with self._replica.table.reading() as view:
            if not AllocationFinder(view, request).is_needed:
                return batch
        rewritten = self._rewrite_request(policy, request)
        return _without_candidates(batch) if rewritten is None else self._fit_to_trees(rewritten, batch)

    def _replaced_allocations(self, batch: ClaimBatch) -> list[Allocations]:
        """Return the allocations of replaced attempts, which the claim of their successors frees."""
        with self._replica.table.reading() as view:
            if not len(view.trees.sharing_rows):
                return []
        replaced_attempts = [
            (intent.consumer, intent.replaces) for intent in batch.intents if intent.replaces is not None
        ]
        return [
            claim.allocations
            for consumer, attempt in replaced_attempts
            for claim in self._store.claims(consumer=consumer)[0]
            if claim.attempt == attempt
        ]

    def _rewrite_request(self, policy: SchedulingPolicy, request: SchedulingRequest) -> SchedulingRequest | None:
        try:
            return self._rewrite(policy, request)
        except (errors.NoValidHost, errors.InvalidSpec):
            return None

    def _filter_again(
        self,
        policy: SchedulingPolicy,
        request: SchedulingRequest | None,
        batch: ClaimBatch,
        replaced_allocations: Sequence[Allocations],
    ) -> ClaimBatch:
        if request is None:
            return _without_candidates(batch)
        number = self._replica.number
        with self._replica.table.reading() as view:
            passes = failing_hosts.decide(
                view,
                lambda view: pipeline.run(policy.eligibility, view, request, ignored_reasons=compute.AUDIT_REASONS),
            ).passes
            epoch, position = view.log_positions[number]

            def eligible(candidate: Candidate) -> bool:
                row = view.row(candidate.host, number)
                return row is not None and bool(passes[row])

            intents = [
                replace(intent, candidates=[candidate for candidate in intent.candidates if eligible(candidate)])
                for intent in batch.intents
            ]
        return self._fit_to_trees(
            request, replace(batch, intents=intents, epoch=epoch, position=position), replaced_allocations
        )

    def _fit_to_trees(
        self, request: SchedulingRequest, batch: ClaimBatch, replaced_allocations: Sequence[Allocations] = ()
    ) -> ClaimBatch:
        """Set allocations from the candidates' current trees. ``replaced_allocations`` count as free."""
        number = self._replica.number

        def fit(view: View) -> ClaimBatch:
            finder = AllocationFinder(view, request, len(batch.intents))
            if not finder.is_needed:
                return batch
            fitted = fit_with(view, finder)
            if finder.is_undecided and not all(intent.candidates for intent in fitted.intents):
                return fit_with(view, AllocationFinder(view, request, len(batch.intents), RETRY_FACTOR))
            return fitted

        def fit_with(view: View, finder: AllocationFinder) -> ClaimBatch:
            for allocations in replaced_allocations:
                finder.assume_released(allocations)
            rows = {
                candidate.host: view.row(candidate.host, number)
                for intent in batch.intents
                for candidate in intent.candidates
            }
            keeps_unfitted = not request.groups  # the root may have capacity by the time of the claim
            return replace(
                batch, intents=[_fit_intent(finder, rows, intent, keeps_unfitted) for intent in batch.intents]
            )

        with self._replica.table.reading() as view:
            return failing_hosts.decide(view, fit)


def _kept_all_candidates(fitted: ClaimBatch, batch: ClaimBatch) -> bool:
    pairs = zip(fitted.intents, batch.intents, strict=True)
    return all(len(fitted_intent.candidates) == len(original.candidates) for fitted_intent, original in pairs)


def _too_small_hosts(batch: ClaimBatch, answer: BatchAnswer) -> dict[str, Verdict]:
    """Return {host: verdict} of hosts that fit only some members of a refused affinity group."""
    is_affinity = batch.group is not None and batch.group.policy is GroupPolicy.AFFINITY
    if not is_affinity or answer.accepted or any(result.answer is not Answer.REFUSED for result in answer.prepared):
        return {}
    pairs = [
        (candidate.host, verdict)
        for intent, result in zip(batch.intents, answer.prepared, strict=True)
        for candidate, verdict in zip(intent.candidates, result.verdicts, strict=False)
    ]
    fits = {host for host, verdict in pairs if verdict is Verdict.FITS}
    # FULL stays for a host that some member does not name, and which thus has no verdict for that member.
    return dict.fromkeys(fits, Verdict.FULL) | {
        host: verdict for host, verdict in pairs if host in fits and verdict is not Verdict.FITS
    }


def _without_hosts(batch: ClaimBatch, hosts: Collection[str]) -> ClaimBatch:
    intents = [
        replace(intent, candidates=[candidate for candidate in intent.candidates if candidate.host not in hosts])
        for intent in batch.intents
    ]
    return replace(batch, intents=intents)


def _with_verdicts(batch: ClaimBatch, answer: BatchAnswer, verdicts: Mapping[str, Verdict]) -> BatchAnswer:
    def merged(intent: Intent, result: IntentResult) -> IntentResult:
        later = iter(result.verdicts)
        complete = (verdicts.get(candidate.host) or next(later, Verdict.PASSED) for candidate in intent.candidates)
        return replace(result, verdicts=tuple(complete))

    pairs = zip(batch.intents, answer.prepared, strict=True)
    return replace(answer, prepared=[merged(intent, result) for intent, result in pairs])


def _without_candidates(batch: ClaimBatch) -> ClaimBatch:
    """Drop all candidates. The store still returns the claims of earlier calls."""
    return replace(batch, intents=[replace(intent, candidates=()) for intent in batch.intents])


def _fit_intent(
    finder: AllocationFinder, rows: Mapping[str, int | None], intent: Intent, keeps_unfitted: bool
) -> Intent:
    candidates: list[Candidate] = []
    is_reserved = False
    for candidate in intent.candidates:
        row = rows[candidate.host]
        allocation = NoCandidateReason.NONE if row is None else finder.find(row)
        if row is not None and not isinstance(allocation, NoCandidateReason):
            candidates.append(replace(candidate, allocations=allocation))
            if not is_reserved:
                finder.reserve(row)
                is_reserved = True
        elif keeps_unfitted:
            candidates.append(candidate)
    return replace(intent, candidates=candidates)
