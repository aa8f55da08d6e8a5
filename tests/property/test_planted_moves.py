# SPDX-License-Identifier: Apache-2.0
"""The simulation of moves without one of the rules that make them safe: it finds what that breaks."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from compute_agent.attempts.isolation import AuditDuty
from compute_agent.attempts.transitions import apply_transitions
from compute_agent.endpoints import compute
from conductor.reports import intake
from conductor.saga import abort, move_guests, moves, saga, unknown_moves
from conductor.saga.saga_pass import SagaPass
from conductor.saga.transitions import set_step
from conductor.saga.unknown_moves import AgentAttempt
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi.resources.claims import Answer, ClaimRole
from scheduler_svc.core.records import Claim
from scheduler_svc.store.records import RunningClaim
from scheduler_svc.store.verbs import audit
from scheduler_svc.store.verbs.partition import PartitionState
from tests.property import machines
from tests.property.promises import PromiseBroken
from tests.property.test_moves_machine import MovesMachine
from tests.unit.scheduler_svc.store.backends import memory_partition

MOST = 20_000  # examples
STEPS = 60

Planted = Callable[[pytest.MonkeyPatch], None]


def end_moved_claims(patch: pytest.MonkeyPatch) -> None:
    """Answer a source whose host has not heard of the move as if that had ended its claim."""
    reconcile = audit._reconcile_live

    def reconcile_unless_moved(
        partition: PartitionState, live: Claim, claim: RunningClaim, now: int
    ) -> tuple[Answer, bool]:
        if live.role is ClaimRole.SOURCE and claim.role is ClaimRole.ONLY:
            return Answer.ENDED, False
        return reconcile(partition, live, claim, now)

    patch.setattr(audit, "_reconcile_live", reconcile_unless_moved)


def follow_late_messages(patch: pytest.MonkeyPatch) -> None:
    """Let agents follow messages with numbers below that of one that they have followed."""

    def apply_all(guest_manager: Any, transitions: Any, *rest: Any) -> None:
        attempts = [guest_manager.journal.get(transition.ref) for transition in transitions]
        latest = [attempt.transition if attempt else 0 for attempt in attempts]
        renumbered = [
            replace(transition, number=max(transition.number, number))
            for transition, number in zip(transitions, latest, strict=True)
        ]
        apply_transitions(guest_manager, renumbered, *rest)

    patch.setattr(compute, "apply_transitions", apply_all)


def start_without_audit(patch: pytest.MonkeyPatch) -> None:
    """Let agents start guests after an isolation without an audit."""
    patch.setattr(AuditDuty, "check", lambda _duty: None)


def remove_destination_first(patch: pytest.MonkeyPatch) -> None:
    """Remove the destination of a reverted move before its source has answered."""

    def stop_source(saga_pass: SagaPass, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
        returning = [instance for instance in instances if moves.is_returning(instance)]
        others = [instance for instance in instances if instance not in returning]
        terminating = [set_step(instance, SagaStep.TERMINATE) for instance in returning]
        return terminating + move_guests.stop_source(saga_pass, others)

    steps = [(name, stop_source if name == SagaStep.STOP_SOURCE else run, most) for name, run, most in saga.STEPS]
    patch.setattr(saga, "STEPS", tuple(steps))
    patch.setattr(move_guests, "_has_returned", lambda _instance: False)


def believe_namesakes(patch: pytest.MonkeyPatch) -> None:
    """Let any agent act under the name of a host."""
    patch.setattr(PartitionState, "check_identity", lambda *_arguments: None)


def end_forgotten_sources(patch: pytest.MonkeyPatch) -> None:
    """Take a later attempt for a proof that an earlier one has ended, also in a move that the store forgot."""
    patch.setattr(audit, "_are_ends_of_one_move", lambda *_arguments: False)


def end_returned_guests(patch: pytest.MonkeyPatch) -> None:
    """End a guest whose host has followed a later message that the conductors' store forgot."""
    patch.setattr(intake, "_is_ended_by_mistake", lambda *_arguments: False)


def return_unknown_moves(patch: pytest.MonkeyPatch) -> None:
    """End the destination of a move that the conductors' store forgot, wherever the guest runs."""
    patch.setattr(unknown_moves, "read_attempt", lambda *_arguments: AgentAttempt())


def take_old_reports_for_answers(patch: pytest.MonkeyPatch) -> None:
    """Believe a report from before the last step of a return."""
    patch.setattr(intake, "is_before_return", lambda *_arguments: False)


def overlook_later_attempts(patch: pytest.MonkeyPatch) -> None:
    """Look for no attempt that the conductors' store forgot when a deletion or failure ends an instance."""
    patch.setattr(abort, "_end_claims_left", lambda *_arguments: None)


# By the scripts that showed each defect first.
PLANTED: dict[str, Planted] = {
    "p12: a move ends the claim of its source": end_moved_claims,
    "p4: late messages are followed": follow_late_messages,
    "p5: an isolated agent starts guests": start_without_audit,
    "p9: the destination is removed first": remove_destination_first,
    "p8: namesakes are believed": believe_namesakes,
    "p10: a later attempt ends a forgotten source": end_forgotten_sources,
    "p14: a guest that returned is ended": end_returned_guests,
    "p1: the destination of a forgotten move is ended": return_unknown_moves,
    "p2: an old report counts": take_old_reports_for_answers,
    "p3: a later attempt is overlooked": overlook_later_attempts,
}


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", PLANTED)
def test_it_is_found(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    PLANTED[name](monkeypatch)
    machine = machines.bind(MovesMachine, make_partition=staticmethod(memory_partition), interrupts=True)
    with pytest.raises(PromiseBroken) as broken:
        machines.explore(machine, machines.PLANTED_SEED, MOST, STEPS, shortens=False)
    print(f"{name}: found after {machine.counts['examples']} examples: {broken.value}"[:300])
