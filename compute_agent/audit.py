# SPDX-License-Identifier: Apache-2.0
"""Settling with the store what runs here, after a start and whenever the store may have forgotten something."""

from dataclasses import dataclass

from oslo_log import log

from compute_agent import metrics
from compute_agent.attempt import Attempt, ClaimEnd, Ref, Stage
from compute_agent.calls import Calls, Rejected, Unanswered
from compute_agent.holdings import Holdings
from compute_agent.journal import Clock, wall_ms
from rpcapi import objects
from rpcapi.claims import ClaimsAPI
from rpcapi.model.claims import Answer, ClaimState

LOG = log.getLogger(__name__)

# The store knows the claim and says that it is over, or not this host's. UNKNOWN is not among them: to forget is not
# to end, and what runs is the truth.
OVER = frozenset({Answer.ABORTED, Answer.EXPIRED, Answer.RELEASED, Answer.ENDED, Answer.CONFLICT, Answer.FOREIGN})


@dataclass(frozen=True, slots=True)
class Audited:
    """The epoch that the store is in by its answer, and the seconds after which to audit again (0: no need)."""

    epoch: int
    again_s: float


class Auditor:
    """One service host's. One thread at a time: the host's lane, so that nothing moves while it looks."""

    def __init__(self, holdings: Holdings, claims: ClaimsAPI, calls: Calls, clock: Clock = wall_ms) -> None:
        self._holdings = holdings
        self._claims = claims
        self._calls = calls
        self._clock = clock
        self.epoch = 0  # the last one in which this host was audited

    def audit(self, epoch: int) -> Audited:
        """Report what this host holds, and end what the store says is over; raises Unanswered, Rejected.

        Where the answer's epoch is another, the host is not open yet and must audit in that one.
        """
        held = self._holdings.journal.live()
        report = _report(self._holdings.host, epoch, held)
        try:
            answer = self._calls.ask("audit_host", lambda ctxt: self._claims.audit_host(ctxt, report))
        except (Unanswered, Rejected):
            metrics.AUDITS.labels("unanswered").inc()
            raise
        self._end_what_is_over(held, answer)
        if answer.epoch == epoch:
            self.epoch = epoch
        metrics.AUDITS.labels("settled" if answer.epoch == epoch else "another epoch").inc()
        LOG.info(
            "Audit of %s in epoch %d: %d held, %d re-asserted, %d released, %d claims that nobody runs",
            *(self._holdings.host, answer.epoch, len(held), answer.reasserted, answer.released, answer.orphans),
        )
        return Audited(answer.epoch, answer.again_s)

    def _end_what_is_over(self, held: list[Attempt], answer: objects.AuditAnswer) -> None:
        rows = zip(answer.consumers, answer.attempts, answer.answers, strict=True)
        answers = {Ref(consumer, number): said for consumer, number, said in rows}
        ended = []
        for attempt in held:
            said = answers.get(attempt.ref)
            if said in OVER:
                reason = f"its claim is over: {said}"
                ended.append(attempt.gone(attempt.outcome_if_ended, reason, ClaimEnd.NOTHING, self._clock()))
            elif said == Answer.UNKNOWN and attempt.stage is not Stage.INTENT:
                LOG.error("The store cannot take back the claim of %s (attempt %d), which runs here", *attempt.ref)
        self._holdings.end(ended)


def _report(host: str, epoch: int, held: list[Attempt]) -> objects.AuditReport:
    return objects.AuditReport.of(
        host=host,
        epoch=epoch,
        consumers=[attempt.uuid for attempt in held],
        attempts=[attempt.attempt for attempt in held],
        states=[str(_state(attempt)) for attempt in held],
        names=[attempt.name for attempt in held],
        allocations=[dict(attempt.allocations) for attempt in held],
        owners=[dict(attempt.owner) for attempt in held],
    )


def _state(attempt: Attempt) -> ClaimState:
    return ClaimState.PREPARED if attempt.stage is Stage.INTENT else ClaimState.CONFIRMED
