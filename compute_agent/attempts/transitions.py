# SPDX-License-Identifier: Apache-2.0
"""Transitions requested by messages: power, end of the guest, and its claim's role in a move.

Each message may arrive twice, late or never; a repeated message only causes another report.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compute_agent.attempt import Attempt, AttemptRef, ClaimEnd, Stage
from compute_agent.attempts.guest_allocations import GuestManager
from rpcapi.objects.guest import CONTINUE, END, STOP
from rpcapi.resources.claims import ClaimRole, MoveEnd
from rpcapi.resources.statuses import AttemptResult
from rpcapi.validation.moves import NO_MOVE


@dataclass(frozen=True, slots=True)
class GuestTransition:
    """Row of rpcapi.objects.GuestTransitions."""

    ref: AttemptRef
    action: str
    number: int
    move: MoveEnd = NO_MOVE


def apply_transitions(
    guest_manager: GuestManager, transitions: Sequence[GuestTransition], request_id: str, owner: dict[str, str]
) -> None:
    """Apply each transition for the saga to execute and report.

    Ends the claim of a guest that the journal does not have.
    """
    for transition in transitions:
        attempt = guest_manager.journal.get(transition.ref)
        if attempt is None:
            guest_manager.end_unknown(transition.ref, request_id, owner)
        elif not attempt.live or transition.number < attempt.transition:
            guest_manager.journal.report_again(attempt.ref)
        elif transition.action == END:
            guest_manager.end_attempts([attempt.to_ended_by_request(guest_manager.journal.clock(), request_id)])
        elif _is_outside_its_move(attempt, transition):
            _put_change(guest_manager, attempt, replace(attempt, transition=transition.number))
            guest_manager.journal.report_again(attempt.ref)
        elif transition.action == STOP:
            _stop(guest_manager, _follow(guest_manager, attempt, transition))
        else:
            if transition.action != CONTINUE:
                _discard_memory(guest_manager, attempt)
            _run(guest_manager, _follow(guest_manager, attempt, transition))


def _is_outside_its_move(attempt: Attempt, transition: GuestTransition) -> bool:
    """Return whether the guest was stopped for a move that the conductor's store has lost.

    Either the message repeats that move's number, or it starts the guest for another migration although the lost move's
    destination may run. The report has the message's number, so that it answers the message.
    """
    if attempt.stopped_for in ("", transition.move.migration):
        return False
    starts_for_other = transition.move.migration is not None and transition.action != STOP
    return starts_for_other or transition.number == attempt.transition


def _follow(guest_manager: GuestManager, attempt: Attempt, transition: GuestTransition) -> Attempt:
    numbered = replace(attempt, transition=transition.number)
    changed = numbered.to_end_of_move(transition.move)
    _put_change(guest_manager, attempt, changed)
    if changed.role is ClaimRole.ONLY:
        guest_manager.hypervisor.copies.pop(changed.ref, None)
    return changed


def _put_change(guest_manager: GuestManager, attempt: Attempt, changed: Attempt) -> None:
    if changed != attempt:  # a repeated message costs no durable write
        guest_manager.journal.put([changed])


def _discard_memory(guest_manager: GuestManager, attempt: Attempt) -> None:
    """Power off a guest paused for a copy: its memory is outdated if the destination has run it."""
    if attempt.stage is Stage.STOPPED:
        guest_manager.hypervisor.power_off(attempt.ref)


def _stop(guest_manager: GuestManager, attempt: Attempt) -> None:
    if attempt.stage is Stage.STOPPED:
        if attempt.stopped_for and not attempt.migration:  # a power request now keeps the guest off
            guest_manager.journal.put([replace(attempt, stopped_for="")])
        guest_manager.journal.report_again(attempt.ref)
    elif attempt.stage is Stage.CONFIRMED and guest_manager.hypervisor.get(attempt.ref) is None:
        # The saga creates the guest powered off: a stopped attempt has a disk.
        off = replace(attempt, starts_off=True, stopped_for=attempt.migration, reported=False)
        guest_manager.journal.put([off])
    elif attempt.stage not in (Stage.INTENT, Stage.INCOMING):  # neither has run yet
        guest_manager.power_off(replace(attempt, stopped_for=attempt.migration))


def _run(guest_manager: GuestManager, attempt: Attempt) -> None:
    if guest_manager.hypervisor.other_running(attempt.ref) is not None:
        # Another guest of the instance must stop first. The conductor repeats the message.
        return
    if attempt.stage is Stage.STOPPED or (attempt.stage is Stage.CONFIRMED and attempt.starts_off):
        guest_manager.power_on(attempt)
    elif attempt.stage is Stage.INCOMING and guest_manager.hypervisor.profile().resume_fails(attempt.ref):
        reason = "simulated failure after the migration"
        now_ms = guest_manager.journal.clock()
        guest_manager.end_attempts([attempt.to_ended(AttemptResult.FAILED, reason, ClaimEnd.RELEASE, now_ms)])
    elif attempt.stage is Stage.INCOMING:
        guest_manager.power_on(replace(attempt, is_incoming=False))
    else:
        guest_manager.journal.report_again(attempt.ref)
