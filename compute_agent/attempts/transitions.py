# SPDX-License-Identifier: Apache-2.0
"""Transitions of guests on request: power, end, and the identity under which they run.

Every message may arrive twice, late or never: a repeated one changes nothing and has the outcome reported again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compute_agent.attempt import Attempt, AttemptRef, AttemptResult, ClaimEnd, Stage
from compute_agent.attempts.guest_allocations import GuestManager
from compute_agent.clock import Clock, wall_ms
from rpcapi.objects.transition import END, STOP


@dataclass(frozen=True, slots=True)
class GuestTransition:
    """One row of rpcapi.objects.GuestTransitions."""

    ref: AttemptRef
    instance: str
    origins: Sequence[AttemptRef]
    action: str


class TransitionController:
    """Applies transitions to the journal and the guests; the saga then starts guests, ends claims and reports."""

    def __init__(self, guest_manager: GuestManager, clock: Clock = wall_ms) -> None:
        self._guest_manager = guest_manager
        self._journal = guest_manager.journal
        self._clock = clock

    def apply(self, transitions: Sequence[GuestTransition], request_id: str, owner: dict[str, str]) -> None:
        """Apply each transition; one of a guest that this host does not have ends its claim.

        The claim of a guest that was lost with its host's journal must not stay: nothing runs under it.
        """
        for transition in transitions:
            attempt = self._journal.get(transition.ref) or self._guest_manager.adopt(
                transition.ref, transition.instance, transition.origins, self._clock()
            )
            if attempt is None:
                now = self._clock()
                self._guest_manager.end_unknown(transition.ref, transition.instance, now, request_id, owner)
            elif not attempt.live:
                self._journal.report_again(attempt.ref)
            elif transition.action == END:
                self._end(attempt, "stopped and released by request", request_id)
            elif transition.action == STOP:
                self._stop(attempt)
            else:
                self._run(attempt)

    def _stop(self, attempt: Attempt) -> None:
        if attempt.stage is Stage.STOPPED:
            self._journal.report_again(attempt.ref)
        elif attempt.stage not in (Stage.INTENT, Stage.INCOMING):  # nothing has been started
            self._guest_manager.power_off(attempt, self._clock())

    def _run(self, attempt: Attempt) -> None:
        if attempt.stage is Stage.STOPPED:
            self._guest_manager.power_on(attempt, self._clock())
        elif attempt.stage is Stage.INCOMING and self._guest_manager.hypervisor.resume_fails(attempt.ref):
            reason = "simulated failure after the migration"
            ended = attempt.to_ended(AttemptResult.FAILED, reason, ClaimEnd.RELEASE, self._clock())
            self._guest_manager.end_attempts([ended])
        elif attempt.stage is Stage.INCOMING:
            self._guest_manager.power_on(replace(attempt, migration=""), self._clock())
        else:
            self._journal.report_again(attempt.ref)

    def _end(self, attempt: Attempt, reason: str, request_id: str) -> None:
        ended = attempt.to_ended(AttemptResult.GONE, reason, ClaimEnd.RELEASE, self._clock(), request_id)
        self._guest_manager.end_attempts([ended])
