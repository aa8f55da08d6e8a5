# SPDX-License-Identifier: Apache-2.0
"""Attempt saga: advances each attempt from its journalled stage (confirm, spawn, end the claim, report).

The journal is the only durable state: a start after a crash, a retry and the first run are the same pass.
"""

import random
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from oslo_log import log

from compute_agent import metrics
from compute_agent.attempt import Attempt, AttemptRef, ClaimEnd, Stage, group_by_request
from compute_agent.attempts.calls import CallRejected, CallUnanswered, ServiceCalls
from compute_agent.attempts.guest_allocations import GuestManager
from rpcapi import objects, tracing
from rpcapi.clients.claims import ClaimsAPI
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.resources.claims import MAX_INSTANCES, Answer
from rpcapi.resources.statuses import AttemptResult

LOG = log.getLogger(__name__)

# Intervals of repeated reports: about guests that a message changed, and about all others
REMIND_MS = 300_000
REMIND_ALL_MS = 6 * 3600 * 1000


class AttemptSaga:
    """Saga of a service host; runs in the host's serial queue."""

    def __init__(
        self,
        guest_manager: GuestManager,
        claims: ClaimsAPI,
        conductor: ConductorAPI,
        calls: ServiceCalls,
        reported_drops: Callable[[], float],
    ) -> None:
        """``reported_drops``: how many of the tracker's drops the scheduler knows.

        The claim of an ended attempt is released only after its drop was reported. Otherwise the scheduler would
        mistake a new build for the guest that has ended, and exceed the limit of IoOpsFilter. If a claim ended before
        its guest, as by a fence, the drop is reported at once.
        """
        self._guest_manager = guest_manager
        self._reported_drops = reported_drops
        self._drops_at_end: dict[AttemptRef, int] = {}  # {ended attempt: tracker's drops when first seen}
        self.awaits_report = False  # whether ended attempts wait for the next report of the host's numbers
        self._journal = guest_manager.journal
        self._claims = claims
        self._conductor = conductor
        self._calls = calls
        self._reminded_ms: dict[AttemptRef, int] = {}  # {attempt: time of its last repeated report}
        self._reminding_since_ms = 0
        self._settled_claims: set[AttemptRef] = set()  # ended attempts whose claims are over in the store
        self._unfinished = False

    def advance(self) -> tuple[bool, int | None]:
        """Run one pass: advance every attempt as far as possible, or until the host must audit.

        Returns (whether work is left, ms until the next guest has booted).
        """
        self._unfinished = False
        self._call_in_batches(self._journal.at(Stage.INTENT), self._confirm)
        self._spawn([*self._journal.at(Stage.CONFIRMED), *self._journal.at(Stage.INCOMING)])
        ended = self._attempts_with_open_claims()
        self._call_in_batches([attempt for attempt in ended if attempt.claim_end is ClaimEnd.ABORT], self._abort)
        dropped = [attempt for attempt in ended if attempt.claim_end is not ClaimEnd.ABORT]
        drops, reported_drops = self._guest_manager.tracker.drops, self._reported_drops()
        self._drops_at_end = {attempt.ref: self._drops_at_end.get(attempt.ref, drops) for attempt in dropped}
        reported = [attempt for attempt in dropped if self._drops_at_end[attempt.ref] <= reported_drops]
        self.awaits_report = len(reported) < len(dropped)
        self._call_in_batches([attempt for attempt in reported if attempt.claim_end is ClaimEnd.RELEASE], self._release)
        boot_ms = self._report()
        self._journal.compact_if_long()
        return self._unfinished, boot_ms

    def remind(self) -> bool:
        """Report guests again: every REMIND_MS after a message changed them, otherwise every REMIND_ALL_MS.

        A store may have lost the previous report, or the deletion of an instance whose claim an audit then restored.
        Returns whether any report is due.
        """
        now_ms = self._journal.clock()
        # Unchanged guests begin at a random time, so that agents that started together do not report together.
        self._reminding_since_ms = self._reminding_since_ms or now_ms - random.randrange(REMIND_ALL_MS)
        reminded_ms, due = {}, []
        for attempt in (*self._journal.at(Stage.STOPPED), *self._journal.at(Stage.SPAWNED)):
            first_ms = attempt.at_ms if attempt.transition else self._reminding_since_ms
            last_ms = self._reminded_ms.get(attempt.ref, first_ms)
            if 0 <= now_ms - last_ms < (REMIND_MS if attempt.transition else REMIND_ALL_MS):
                reminded_ms[attempt.ref] = last_ms
            else:
                due.append(attempt.ref)
        for ref in due:
            self._journal.report_again(ref)
        self._reminded_ms = reminded_ms | dict.fromkeys(due, now_ms)
        return bool(due)

    def _call_in_batches(self, attempts: Sequence[Attempt], call: Callable[[list[Attempt]], None]) -> None:
        """Call ``call`` per request; stop at the first unanswered call, or if an audit is due.

        A call covers all attempts of a request, because members of an affinity group change hosts together.
        """
        for group in group_by_request(attempts).values():
            rest = iter(group)
            while batch := list(islice(rest, MAX_INSTANCES)):
                if self._guest_manager.audit_duty.is_due:
                    self._unfinished = True
                    return
                try:
                    call(batch)
                except CallRejected as error:
                    LOG.error("%s", error)
                    self._unfinished = True
                except CallUnanswered as error:
                    LOG.warning("%s; retrying later", error)
                    self._unfinished = True
                    return

    # -- confirm claims, spawn guests ---------------------------------------------------------------------------

    def _confirm(self, attempts: list[Attempt]) -> None:
        answers = self._calls.call(
            "confirm_claims",
            lambda ctxt: self._claims.confirm_claims(ctxt, self._guest_manager.host, refs_of(attempts)),
            attempts,
        )
        confirmed, refused = [], []
        for attempt, answer in self._match_answers(attempts, answers):
            metrics.CONFIRMS.labels(answer).inc()
            if answer == Answer.CONFIRMED:
                confirmed.append(attempt)
            elif answer in (Answer.CLOSED, Answer.PREPARED):
                self._unfinished = True
            else:
                reason = f"claim could not be confirmed: {answer}"
                refused.append(attempt.to_ended(AttemptResult.REFUSED, reason, ClaimEnd.NOTHING, self._journal.clock()))
        for stage, is_incoming in ((Stage.CONFIRMED, False), (Stage.INCOMING, True)):
            self._journal.advance([attempt.ref for attempt in confirmed if attempt.is_incoming is is_incoming], stage)
        self._guest_manager.end_attempts(refused)

    def _spawn(self, attempts: Sequence[Attempt]) -> None:
        with tracing.shared_span("compute.spawn", group_by_request(attempts)):
            failed = self._guest_manager.spawn(attempts)
        self._guest_manager.end_attempts(
            [
                attempt.to_ended(AttemptResult.FAILED, reason, ClaimEnd.RELEASE, self._journal.clock())
                for attempt, reason in failed
            ]
        )

    # -- end claims ------------------------------------------------------------------------------------------------

    def _attempts_with_open_claims(self) -> list[Attempt]:
        unreported = self._journal.unreported()
        return [attempt for attempt in unreported if not attempt.live and attempt.ref not in self._settled_claims]

    def _abort(self, attempts: list[Attempt]) -> None:
        answers = self._calls.call(
            "abort_claims",
            lambda ctxt: self._claims.abort_claims(ctxt, refs_of(attempts), self._guest_manager.host),
            attempts,
        )
        # CONFIRMED: the answer to an executed confirm was lost. Only a release ends the claim.
        pairs = self._match_answers(attempts, answers)
        confirmed = [attempt for attempt, answer in pairs if answer == Answer.CONFIRMED]
        self._settle([pair for pair in pairs if pair[1] != Answer.CONFIRMED])
        if confirmed:
            self._release(confirmed)

    def _release(self, attempts: list[Attempt]) -> None:
        answers = self._calls.call(
            "release_claims",
            lambda ctxt: self._claims.release_claims(ctxt, self._guest_manager.host, refs_of(attempts)),
            attempts,
        )
        self._settle(self._match_answers(attempts, answers))

    def _settle(self, pairs: Sequence[tuple[Attempt, str]]) -> None:
        for attempt, answer in pairs:
            if answer in (Answer.CLOSED, Answer.PREPARED, Answer.CONFIRMED):
                self._unfinished = True
            else:
                self._settled_claims.add(attempt.ref)

    # -- report outcomes ---------------------------------------------------------------------------------------------

    def _report(self) -> int | None:
        """Report every available outcome; return the ms until the next guest has booted."""
        due, boots_ms = [], []
        for attempt in self._journal.unreported():
            if attempt.stage is Stage.SPAWNED:
                boot_ms = self._guest_manager.hypervisor.boot_ms(attempt.ref)
                if boot_ms == 0:
                    due.append(attempt)
                elif boot_ms is not None:
                    boots_ms.append(boot_ms)
            elif attempt.stage in (Stage.STOPPED, Stage.INCOMING) or (
                attempt.stage is Stage.GONE
                and (attempt.claim_end is ClaimEnd.NOTHING or attempt.ref in self._settled_claims)
            ):
                due.append(attempt)
        self._call_in_batches(due, self._send_report)
        return min(boots_ms, default=None)

    def _match_answers(self, attempts: Sequence[Attempt], answers: objects.ClaimAnswers) -> list[tuple[Attempt, str]]:
        rows = zip(answers.consumers, answers.attempts, answers.answers, strict=True)
        by_ref = {AttemptRef(consumer, number): answer for consumer, number, answer in rows}
        pairs = [(attempt, by_ref[attempt.ref]) for attempt in attempts if attempt.ref in by_ref]
        self._unfinished |= len(pairs) < len(attempts)
        return pairs

    def _reason(self, attempt: Attempt) -> str:
        if attempt.live and attempt.copy is not None and attempt.copy.reason:
            return attempt.copy.reason
        return attempt.reason or self._guest_manager.tracker.describe(attempt)

    def _send_report(self, attempts: list[Attempt]) -> None:
        report = objects.BuildReport.of(
            host=self._guest_manager.host,
            uuids=[attempt.uuid for attempt in attempts],
            attempts=[attempt.attempt for attempt in attempts],
            outcomes=[_outcome(attempt) for attempt in attempts],
            reasons=[self._reason(attempt) for attempt in attempts],
            operations=[attempt.operation for attempt in attempts]
            if any(attempt.operation for attempt in attempts)
            else [],
            copies=[_copy(attempt) for attempt in attempts] if any(attempt.copy for attempt in attempts) else [],
            transitions=[attempt.transition for attempt in attempts]
            if any(attempt.transition for attempt in attempts)
            else [],
            migrations=[attempt.stopped_for or None for attempt in attempts]
            if any(attempt.stopped_for for attempt in attempts)
            else [],
        )
        self._calls.call("report_builds", lambda ctxt: self._conductor.report_builds(ctxt, report), attempts)
        self._journal.mark_reported(attempt.ref for attempt in attempts)
        self._guest_manager.activity.end(attempt for attempt in attempts if attempt.live)
        self._settled_claims.difference_update(attempt.ref for attempt in attempts)


def _outcome(attempt: Attempt) -> str:
    results = {Stage.STOPPED: AttemptResult.STOPPED, Stage.INCOMING: AttemptResult.INCOMING}
    return str(attempt.outcome or results.get(attempt.stage, AttemptResult.ACTIVE))


def _copy(attempt: Attempt) -> dict[str, Any] | None:
    return {"number": attempt.copy.number, "phase": attempt.copy.phase} if attempt.copy else None


def refs_of(attempts: Sequence[Attempt]) -> objects.ClaimRefs:
    return objects.ClaimRefs.of(
        consumers=[attempt.uuid for attempt in attempts], attempts=[attempt.attempt for attempt in attempts]
    )
