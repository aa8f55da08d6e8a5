# SPDX-License-Identifier: Apache-2.0
"""Audit of a service host: reports live attempts to the store, then ends attempts whose claims are over.

A host audits after its start and whenever the store may have lost data.
"""

from typing import Any

from oslo_log import log

from compute_agent import metrics
from compute_agent.attempt import Attempt, AttemptRef, ClaimEnd, Stage
from compute_agent.attempts.calls import CallRejected, CallUnanswered, ServiceCalls
from compute_agent.attempts.guest_allocations import GuestManager
from compute_agent.stamps import StampFile
from rpcapi import objects
from rpcapi.clients.claims import ClaimsAPI
from rpcapi.resources.claims import Answer, ClaimRole, ClaimState

LOG = log.getLogger(__name__)

# Answers that end an attempt: its claim is over or belongs to another host. UNKNOWN does not end a running guest,
# because the store may have lost its claim.
ENDED_ANSWERS = frozenset(
    {
        Answer.ABORTED,
        Answer.EXPIRED,
        Answer.RELEASED,
        Answer.FENCED,
        Answer.ENDED,
        Answer.CONFLICT,
        Answer.FOREIGN,
    }
)


class HostAuditor:
    """Auditor of a service host.

    Runs in the host's serial queue, so that attempts do not change during an audit.
    """

    def __init__(
        self,
        guest_manager: GuestManager,
        claims: ClaimsAPI,
        calls: ServiceCalls,
        stamps: StampFile,
    ) -> None:
        self._guest_manager = guest_manager
        self._claims = claims
        self._calls = calls
        self._stamps = stamps
        self.epoch = 0  # epoch of the last audit

    def audit(self, epoch: int) -> objects.AuditAnswer:
        """Report the live attempts, end attempts whose claims are over, and return the answer.

        If the answer has another epoch, the host is not open yet and must audit in that epoch. Raises CallUnanswered,
        CallRejected.
        """
        isolations = self._guest_manager.audit_duty.isolations
        live_attempts = self._guest_manager.journal.live()
        report = _audit_report(self._guest_manager.host, epoch, live_attempts, self._stamps.newest)
        try:
            answer = self._calls.call("audit_host", lambda ctxt: self._claims.audit_host(ctxt, report))
        except (CallUnanswered, CallRejected):
            metrics.AUDITS.labels("unanswered").inc()
            raise
        self._stamps.keep(answer.stamp)
        self._end_finished_attempts(live_attempts, answer)
        if answer.epoch == epoch:
            self.epoch = epoch
            self._guest_manager.audit_duty.discharge(isolations)
        metrics.AUDITS.labels("settled" if answer.epoch == epoch else "another epoch").inc()
        LOG.info(
            "Audited host %s in epoch %d: %d live attempts, %d claims re-asserted, %d released, %d orphans",
            *(
                self._guest_manager.host,
                answer.epoch,
                len(live_attempts),
                answer.reasserted,
                answer.released,
                answer.orphans,
            ),
        )
        return answer

    def _end_finished_attempts(self, live_attempts: list[Attempt], audit_answer: objects.AuditAnswer) -> None:
        rows = zip(audit_answer.consumers, audit_answer.attempts, audit_answer.answers, strict=True)
        answers_by_ref = {AttemptRef(consumer, number): answer for consumer, number, answer in rows}
        ended = []
        for attempt in live_attempts:
            answer = answers_by_ref.get(attempt.ref)
            if answer in ENDED_ANSWERS:
                reason, now_ms = f"claim is over: {answer}", self._guest_manager.journal.clock()
                ended.append(attempt.to_ended(attempt.outcome_if_ended, reason, ClaimEnd.NOTHING, now_ms))
            elif answer == Answer.UNVERIFIED:
                LOG.warning(
                    "The store does not know the claim of running instance %s (attempt %d); it is unverified until the "
                    "conductor's record names it",
                    *attempt.ref,
                )
            elif answer == Answer.UNKNOWN and attempt.stage is not Stage.INTENT:
                LOG.error(
                    "The store does not accept the claim of running instance %s (attempt %d)",
                    *attempt.ref,
                )
        self._guest_manager.end_attempts(ended)


def _audit_report(host: str, epoch: int, live_attempts: list[Attempt], stamp: str | None) -> objects.AuditReport:
    return objects.AuditReport.of(
        host=host,
        epoch=epoch,
        consumers=[attempt.uuid for attempt in live_attempts],
        attempts=[attempt.attempt for attempt in live_attempts],
        states=[
            str(ClaimState.PREPARED if attempt.stage is Stage.INTENT else ClaimState.CONFIRMED)
            for attempt in live_attempts
        ],
        names=[attempt.name for attempt in live_attempts],
        allocations=[dict(attempt.allocations) for attempt in live_attempts],
        owners=[_owner(attempt) for attempt in live_attempts],
        stamp=stamp,
    )


def _owner(attempt: Attempt) -> dict[str, Any]:
    owner = {name: value for name, value in attempt.owner.items() if name != "flavor"}
    if attempt.role is ClaimRole.ONLY:
        return owner
    return {**owner, **attempt.move.as_dict()}
