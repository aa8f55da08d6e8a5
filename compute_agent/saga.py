# SPDX-License-Identifier: Apache-2.0
"""Drives every attempt on from where the journal says it is: confirm, spawn, end its claim, report.

There is no state but the journal's: a start after a crash, a retry and the first run are the same walk.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from oslo_log import log

from compute_agent import metrics
from compute_agent.attempt import Attempt, AttemptRef, AttemptResult, ClaimEnd, Stage, group_by_request
from compute_agent.calls import CallRejected, CallUnanswered, ServiceCalls
from compute_agent.holdings import GuestManager
from compute_agent.journal import Clock, wall_ms
from rpcapi import objects
from rpcapi.claims import ClaimsAPI
from rpcapi.conductor import ConductorAPI
from rpcapi.model.claims import Answer

LOG = log.getLogger(__name__)

# Claims or outcomes in one call; a message of the conductor is rarely larger.
BATCH = 100


@dataclass(frozen=True, slots=True)
class SagaProgress:
    """What one walk left: whether something got no answer, and when (Unix ms) the next guest will have booted."""

    unfinished: bool
    wake_ms: int | None


class AttemptSaga:
    """One service host's. One thread at a time: the host's lane."""

    def __init__(
        self,
        guest_manager: GuestManager,
        claims: ClaimsAPI,
        conductor: ConductorAPI,
        calls: ServiceCalls,
        clock: Clock = wall_ms,
    ) -> None:
        self._guest_manager = guest_manager
        self._journal = guest_manager.journal
        self._claims = claims
        self._conductor = conductor
        self._calls = calls
        self._clock = clock
        self._settled_claims: set[AttemptRef] = set()  # gone, and the store has answered for their claims
        self._unfinished = False

    def advance(self) -> SagaProgress:
        """Take every attempt as far as it goes now."""
        self._unfinished = False
        self._call_in_batches(self._journal.at(Stage.INTENT), self._confirm)
        self._spawn(self._journal.at(Stage.CONFIRMED))
        for end, call in ((ClaimEnd.ABORT, self._abort), (ClaimEnd.RELEASE, self._release)):
            self._call_in_batches(
                [attempt for attempt in self._attempts_with_open_claims() if attempt.claim_end is end], call
            )
        wake_ms = self._report()
        self._journal.compact_if_long()
        return SagaProgress(self._unfinished, wake_ms)

    def _call_in_batches(self, attempts: Sequence[Attempt], call: Callable[[list[Attempt]], None]) -> None:
        """Make ``call`` for the attempts of each request; the rest waits where nobody answers."""
        for group in group_by_request(attempts).values():
            rest = iter(group)
            while batch := list(islice(rest, BATCH)):
                try:
                    call(batch)
                except CallRejected as error:
                    LOG.error("%s", error)
                    self._unfinished = True
                except CallUnanswered as error:
                    LOG.warning("%s; it is asked again", error)
                    self._unfinished = True
                    return

    # -- the claim is confirmed, the guest spawned ---------------------------------------------------------------

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
                confirmed.append(attempt.ref)
            elif answer in (Answer.CLOSED, Answer.PREPARED):
                self._unfinished = True
            else:
                reason = f"its claim could not be confirmed: {answer}"
                refused.append(attempt.to_ended(AttemptResult.REFUSED, reason, ClaimEnd.NOTHING, self._clock()))
        self._journal.advance(confirmed, Stage.CONFIRMED)
        self._guest_manager.end_attempts(refused)

    def _spawn(self, attempts: Sequence[Attempt]) -> None:
        failed = self._guest_manager.spawn(attempts)
        self._guest_manager.end_attempts(
            [
                attempt.to_ended(AttemptResult.FAILED, reason, ClaimEnd.RELEASE, self._clock())
                for attempt, reason in failed
            ]
        )

    # -- the claim is ended ----------------------------------------------------------------------------------------

    def _attempts_with_open_claims(self) -> list[Attempt]:
        unreported = self._journal.unreported()
        return [attempt for attempt in unreported if not attempt.live and attempt.ref not in self._settled_claims]

    def _abort(self, attempts: list[Attempt]) -> None:
        answers = self._calls.call(
            "abort_claims",
            lambda ctxt: self._claims.abort_claims(ctxt, refs_of(attempts), self._guest_manager.host),
            attempts,
        )
        # Confirmed: a confirm was carried out whose answer was lost. Then only a release ends it.
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

    # -- the conductor is told ---------------------------------------------------------------------------------------

    def _report(self) -> int | None:
        """Tell every outcome that is there; return when the next guest will have booted."""
        due, wake_ms, now = [], None, self._clock()
        for attempt in self._journal.unreported():
            if attempt.stage is Stage.SPAWNED:
                guest = self._guest_manager.hypervisor.get(attempt.ref)
                if guest is not None and guest.running_at_ms <= now:
                    due.append(attempt)
                elif guest is not None:
                    wake_ms = min(guest.running_at_ms, wake_ms or guest.running_at_ms)
            elif attempt.stage is Stage.GONE and self._claim_is_over(attempt):
                due.append(attempt)
        self._call_in_batches(due, self._send_report)
        return wake_ms

    def _match_answers(self, attempts: Sequence[Attempt], answers: objects.ClaimAnswers) -> list[tuple[Attempt, str]]:
        """Return each attempt with its answer; one that was not answered is left out, and asked again."""
        rows = zip(answers.consumers, answers.attempts, answers.answers, strict=True)
        by_ref = {AttemptRef(consumer, number): answer for consumer, number, answer in rows}
        pairs = [(attempt, by_ref[attempt.ref]) for attempt in attempts if attempt.ref in by_ref]
        self._unfinished |= len(pairs) < len(attempts)
        return pairs

    def _claim_is_over(self, attempt: Attempt) -> bool:
        return attempt.claim_end is ClaimEnd.NOTHING or attempt.ref in self._settled_claims

    def _send_report(self, attempts: list[Attempt]) -> None:
        report = objects.BuildReport.of(
            host=self._guest_manager.host,
            uuids=[attempt.uuid for attempt in attempts],
            attempts=[attempt.attempt for attempt in attempts],
            outcomes=[str(attempt.outcome or AttemptResult.ACTIVE) for attempt in attempts],
            reasons=[attempt.reason or self._guest_manager.tracker.describe(attempt) for attempt in attempts],
        )
        self._calls.call("report_builds", lambda ctxt: self._conductor.report_builds(ctxt, report), attempts)
        self._journal.mark_reported(attempt.ref for attempt in attempts)
        self._guest_manager.activity.end(attempt for attempt in attempts if attempt.live)
        self._settled_claims.difference_update(attempt.ref for attempt in attempts)


def refs_of(attempts: Sequence[Attempt]) -> objects.ClaimRefs:
    """Return the claims of the attempts, in their order."""
    return objects.ClaimRefs.of(
        consumers=[attempt.uuid for attempt in attempts], attempts=[attempt.attempt for attempt in attempts]
    )
