# SPDX-License-Identifier: Apache-2.0
"""Admission of build and terminate messages, which may arrive twice, late or never."""

from collections.abc import Sequence
from dataclasses import replace

from compute_agent.attempt import Attempt, AttemptRef, ClaimEnd, Stage
from compute_agent.attempts.guest_allocations import GuestManager
from compute_agent.resources.requirements import BuildRequirements
from rpcapi.resources.claims import ClaimRole
from rpcapi.resources.statuses import AttemptResult


def build(guest_manager: GuestManager, intents: Sequence[Attempt], requirements: BuildRequirements) -> None:
    """Admit or refuse each intent by the host's own resource tracker, and journal the decisions.

    A repeated attempt is only reported again. An attempt older than the instance's latest is refused. At most two
    batches are written, and a restarted agent does not check admitted intents again.
    """
    admitted: list[Attempt] = []
    refused: list[Attempt] = []
    try:
        for intent in intents:
            if guest_manager.journal.get(intent.ref) is not None:
                guest_manager.journal.report_again(intent.ref)
                continue
            verdict = _admit_intent(guest_manager, intent, requirements)
            if isinstance(verdict, str):
                refused.append(
                    intent.to_ended(AttemptResult.REFUSED, verdict, ClaimEnd.ABORT, guest_manager.journal.clock())
                )
            else:
                # Count now: the next intent of this message must fit as well.
                guest_manager.hold(verdict)
                admitted.append(verdict)
        guest_manager.journal.put(admitted)
    except BaseException:
        for intent in admitted:
            guest_manager.drop(replace(intent, outcome=AttemptResult.REFUSED))
        raise
    guest_manager.end_attempts(refused)


def terminate(guest_manager: GuestManager, refs: Sequence[AttemptRef], request_id: str, owner: dict[str, str]) -> None:
    """End attempts, journalled or not, so that the saga releases their claims.

    Also ends older attempts that wait for confirmation: the store prepares an attempt only after the previous one has
    ended. The journal record of the end refuses a build message that arrives later.
    """
    ended_attempts = []
    for ref in refs:
        ended_attempts += [
            _end_with_release(guest_manager, older, AttemptResult.GONE, "a later attempt was terminated")
            for older in guest_manager.journal.of_instance(ref.uuid)
            if older.stage is Stage.INTENT and _has_ended_before(older, ref)
        ]
        attempt = guest_manager.journal.get(ref) or Attempt(
            *ref, stage=Stage.INTENT, at_ms=guest_manager.journal.clock(), owner=owner
        )
        ended_attempts.append(attempt.to_ended_by_request(guest_manager.journal.clock(), request_id))
    guest_manager.end_attempts(ended_attempts)


def _admit_intent(guest_manager: GuestManager, intent: Attempt, requirements: BuildRequirements) -> Attempt | str:
    if guest_manager.refusal:
        return guest_manager.refusal
    others = guest_manager.journal.of_instance(intent.uuid)
    if intent.is_incoming and any(other.live for other in others):
        return f"the instance is already on host {guest_manager.host}"
    latest = max((max(other.attempt, other.transition) for other in others), default=0)
    if latest > intent.attempt:
        return f"attempt {latest} of the instance is newer"
    if guest_manager.hypervisor.profile().refuses(intent.ref):
        return "refused by the simulated hypervisor"
    older = [other for other in others if _has_ended_before(other, intent.ref)]
    reason = f"replaced by attempt {intent.attempt}"
    guest_manager.end_attempts(
        [_end_with_release(guest_manager, other, other.outcome_if_ended, reason) for other in older]
    )
    return guest_manager.tracker.admit(intent, requirements)


def _end_with_release(guest_manager: GuestManager, attempt: Attempt, outcome: AttemptResult, reason: str) -> Attempt:
    return attempt.to_ended(outcome, reason, ClaimEnd.RELEASE, guest_manager.journal.clock())


def _has_ended_before(older: Attempt, ref: AttemptRef) -> bool:
    """Return whether ``older`` must have ended before ``ref`` was prepared.

    False for the source of a move, and for an attempt to which a message returned the instance after ``ref``.
    """
    return older.live and older.role is not ClaimRole.SOURCE and max(older.attempt, older.transition) < ref.attempt
