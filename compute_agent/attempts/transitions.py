# SPDX-License-Identifier: Apache-2.0
"""Transitions of guests on request: power, end, and the role of their claims in a move.

Every message may arrive twice, late or never: a repeated one changes nothing and has the outcome reported again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from compute_agent.attempt import Attempt, AttemptRef, AttemptResult, ClaimEnd, Stage
from compute_agent.attempts.guest_allocations import GuestManager
from compute_agent.clock import Clock, wall_ms
from rpcapi.objects.transition import END, STOP
from rpcapi.resources.claims import ClaimRole


class EndOfMove(NamedTuple):
    """Role of a claim in a migration."""

    migration: str
    role: ClaimRole


NO_MOVE = EndOfMove("", ClaimRole.ONLY)


@dataclass(frozen=True, slots=True)
class GuestTransition:
    """One row of rpcapi.objects.GuestTransitions. Without a move, the claim is the only claim of its instance."""

    ref: AttemptRef
    action: str
    number: int
    move: EndOfMove | None = None


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
            attempt = self._journal.get(transition.ref)
            if attempt is None:
                self._guest_manager.end_unknown(transition.ref, self._clock(), request_id, owner)
            elif not attempt.live or transition.number < attempt.transition:
                self._journal.report_again(attempt.ref)
            elif transition.action == END:
                self._end(attempt, request_id)
            else:
                change = self._stop if transition.action == STOP else self._run
                change(self._follow(attempt, transition))

    def _follow(self, attempt: Attempt, transition: GuestTransition) -> Attempt:
        """Journal the number of a message, and the role that it gives the claim; return the attempt with both."""
        changed = replace(attempt, transition=transition.number).to_end_of_move(*(transition.move or NO_MOVE))
        if changed != attempt:
            self._journal.put([changed])
        if changed.role is ClaimRole.ONLY:
            self._guest_manager.hypervisor.copies.pop(changed.ref, None)
        return changed

    def _stop(self, attempt: Attempt) -> None:
        if attempt.stage is Stage.STOPPED:
            if attempt.stopped_for and not attempt.migration:  # a request keeps the guest off
                self._journal.put([replace(attempt, stopped_for="")])
            self._journal.report_again(attempt.ref)
        elif attempt.stage not in (Stage.INTENT, Stage.INCOMING):  # nothing has been started
            self._guest_manager.power_off(replace(attempt, stopped_for=attempt.migration), self._clock())

    def _run(self, attempt: Attempt) -> None:
        if self._guest_manager.hypervisor.other_running(attempt.ref) is not None:
            # Another guest of the instance runs on this host and must stop first. The conductor repeats the message.
            return
        if attempt.stage is Stage.STOPPED:
            self._guest_manager.power_on(attempt, self._clock())
        elif attempt.stage is Stage.INCOMING and self._guest_manager.hypervisor.resume_fails(attempt.ref):
            reason = "simulated failure after the migration"
            ended = attempt.to_ended(AttemptResult.FAILED, reason, ClaimEnd.RELEASE, self._clock())
            self._guest_manager.end_attempts([ended])
        elif attempt.stage is Stage.INCOMING:
            self._guest_manager.power_on(replace(attempt, is_incoming=False), self._clock())
        else:
            self._journal.report_again(attempt.ref)

    def _end(self, attempt: Attempt, request_id: str) -> None:
        self._guest_manager.end_attempts([attempt.to_ended_by_request(self._clock(), request_id)])
