# SPDX-License-Identifier: Apache-2.0
"""Plants of the simulation of moves: rules that are taken out of the real code, and the promises that break then.

Each stands for sequences of events in which a promise was once broken. The rule is the mend; without it the regression
test of the sequence fails, and the simulation finds a broken promise by itself.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from compute_agent.attempts.isolation import AuditDuty
from compute_agent.endpoints import compute as compute_endpoint
from conductor.report_results import ACTIVE, BuildResult
from conductor.reports import moved_reports
from conductor.requests import moves as move_requests
from conductor.saga import abort, move_claims, move_guests, moves, reconcile, unknown_moves
from conductor.saga.transitions import set_step
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi.objects.guest import END
from rpcapi.resources.claims import ClaimRole
from rpcapi.resources.statuses import InstanceStatus
from scheduler_svc.store import allocations
from scheduler_svc.store.verbs import audit
from scheduler_svc.store.verbs.partition import PartitionState

Patch = pytest.MonkeyPatch


def _forget_identities(patch: Patch) -> None:
    """A claim that becomes the source of a move is no longer found by its instance and attempt."""

    def claim_of(partition: PartitionState, ref: Any) -> Any:
        claim = partition.claims.get(ref.consumer)
        return claim if claim is not None and claim.attempt == ref.attempt else None

    patch.setattr(PartitionState, "claim_of", claim_of)


def _on_late_messages(patch: Patch, name: str, act: Callable[..., None], *, actions: Sequence[str] = ()) -> None:
    """Have agents call ``act`` before they follow a message with a lower number than their guest has."""
    plain = getattr(compute_endpoint, name)

    def apply(guest_manager: Any, messages: Sequence[Any], request_id: str, owner: Any) -> None:
        for message in messages:
            attempt = guest_manager.journal.get(message.ref)
            is_late = attempt is not None and attempt.live and message.number < attempt.transition
            if is_late and (not actions or message.action in actions):
                act(guest_manager, attempt, message, request_id, owner)
            plain(guest_manager, [message], request_id, owner)

    patch.setattr(compute_endpoint, name, apply)


def _follow(guest_manager: Any, attempt: Any, message: Any, *_rest: Any) -> None:
    guest_manager.journal.put([replace(attempt, transition=message.number)])


def _release_on_late_copies(patch: Patch) -> None:
    """An agent takes a late copy message for one about an unknown guest, and releases the claim."""

    def release(guest_manager: Any, attempt: Any, _message: Any, *rest: Any) -> None:
        guest_manager.end_unknown(attempt.ref, *rest)

    _on_late_messages(patch, "apply_copies", release)


def _follow_overtaken_messages(patch: Patch) -> None:
    _on_late_messages(patch, "apply_copies", _follow)
    _on_late_messages(patch, "apply_transitions", _follow)


def _start_without_looking(patch: Patch) -> None:
    patch.setattr(AuditDuty, "check", lambda _duty: None)


def _end_destinations_first(patch: Patch) -> None:
    """A revert ends the guest at the destination before it asks the source."""
    plain = moves.revert_move

    def revert_move(instance: Any, reason: str | None = None) -> Any:
        return set_step(plain(instance, reason), SagaStep.TERMINATE)

    for module in (moves, move_requests):
        patch.setattr(module, "revert_move", revert_move)
    patch.setattr(moves, "is_returning", lambda _instance: False)


def _believe_namesakes(patch: Patch) -> None:
    patch.setattr(PartitionState, "check_identity", lambda *_arguments: None)


def _lower_claims(patch: Patch) -> None:
    patch.setattr(allocations, "lowered_amounts", lambda *_arguments: None)


def _end_sources(patch: Patch) -> None:
    """A later attempt proves that the source of its move has ended."""
    patch.setattr(audit, "_are_ends_of_one_move", lambda *_claims: False)


def _know_every_move(patch: Patch) -> None:
    """A comparison does not see that a claim is part of a move that has ended."""
    patch.setattr(moves, "knows_move", lambda *_arguments: True)


def _end_no_earlier_move(patch: Patch) -> None:
    patch.setattr(
        *(move_claims, "_end_earlier"),
        lambda context, instance, _migration: context.retry_later(instance, "its claim is in another move"),
    )


def _adopt_destinations(patch: Patch) -> None:
    """Step SETTLE takes the claim of a destination for the only one."""
    patch.setattr(
        *(reconcile, "_settle_unknown_move"),
        lambda context, instance, source, own: reconcile._adopt_claim(context, instance, own or source),
    )


def _end_sources_unasked(patch: Patch) -> None:
    """A source ends on request, whatever became of its destination and of the source since."""
    _on_late_messages(patch, "apply_transitions", _follow, actions=[END])
    patch.setattr(move_guests, "_ask_other_ends", lambda _context, instances, *_rest: (list(instances), []))


def _adopt_no_amounts(patch: Patch) -> None:
    patch.setattr(unknown_moves, "resized_spec", lambda *_arguments: None)


def _leave_claims(patch: Patch) -> None:
    """A deletion ends the recorded attempt alone."""
    patch.setattr(abort, "_end_claims_left", lambda *_arguments: None)


def _leave_sources(patch: Patch) -> None:
    """Step SETTLE waits for a source without a destination."""
    patch.setattr(
        *(reconcile, "_end_move"),
        lambda context, instance, *_rest: context.retry_later(instance, "its claim is a source"),
    )


def _settle_with_one_partition(patch: Patch) -> None:
    """The destination of an ended move is taken for the only claim, whatever the other partition has."""

    def is_of_other_move(instance: InstanceRecord, own: Mapping[str, Any]) -> bool:
        if own["role"] != ClaimRole.DESTINATION or moves.knows_move(instance, own["migration"]):
            return False
        return instance.open_migration is None or own["attempt"] != instance.move.source_attempt

    plain = moved_reports._end_later_source

    def end_later_source(instance: InstanceRecord, result: BuildResult) -> InstanceRecord:
        if result.kind != ACTIVE or instance.status == InstanceStatus.DELETING:
            return plain(instance, result)
        return moves.settle_without_move(replace(instance, last_attempt=result.transition), "its source runs again")

    patch.setattr(reconcile, "_is_of_other_move", is_of_other_move)
    patch.setattr(moved_reports, "_end_later_source", end_later_source)


class Plant(NamedTuple):
    """A rule to take out: its page in docs and the sentence there, and the failure that shows its absence."""

    page: str
    sentence: str
    take_out: Callable[[Patch], None]
    broken: str  # a regular expression
    is_rare: bool = False  # its absence is found in the long form only
    is_across: bool = False  # it takes two partitions


_CLAIMS = "claims.md"
_FAILURES = "failures.md"
_IDENTITIES = "adr/0340-claims-keep-their-identity.md"
_RETURNS = "adr/0341-a-return-keeps-the-destination.md"
_NAMES = "adr/0343-a-destination-names-its-source.md"
RUNS_TWICE, WRONGLY_ENDED, CONTRADICTED, NEVER_RESTS = (f"promise {number} is broken" for number in range(1, 5))

# By the sequence that the rule mends.
PLANTS = {
    "late build during a move": Plant(
        _CLAIMS,
        "Its identity is **(instance, attempt)** and never changes",
        _forget_identities,
        "promise [34] is broken",
    ),
    "repeated copy message": Plant(
        _IDENTITIES, "and ignore lower numbers", _release_on_late_copies, WRONGLY_ENDED, is_rare=True
    ),
    "overtaken message": Plant(
        *(_IDENTITIES, "Agents journal the role with the number of the message that set it"),
        *(_follow_overtaken_messages, WRONGLY_ENDED),
        is_rare=True,
    ),
    "suspended between confirm and start": Plant(
        _FAILURES, "for each guest immediately before the start", _start_without_looking, RUNS_TWICE, is_rare=True
    ),
    "revert with a dead source": Plant(
        _RETURNS, "the destination stops the guest and keeps its disk", _end_destinations_first, WRONGLY_ENDED
    ),
    "namesake of a silent machine": Plant(
        _CLAIMS, "it serves nothing, ends nothing and starts nothing", _believe_namesakes, WRONGLY_ENDED
    ),
    "PUT under a guest": Plant(
        "placement.md", "may lower or move the amounts that the guest uses", _lower_claims, CONTRADICTED
    ),
    "forgotten begin of a live migration": Plant(
        _CLAIMS, "unless it names the earlier one as its source", _end_sources, "promise [234] is broken", is_rare=True
    ),
    "forgotten end of a move, compared": Plant(
        _FAILURES, "the conductor's comparison ends the move again", _know_every_move, CONTRADICTED
    ),
    "forgotten end of a move, moved again": Plant(
        _NAMES,
        "A conductor whose record is certain ends the earlier migration first",
        _end_no_earlier_move,
        CONTRADICTED,
    ),
    "forgotten move": Plant(
        _FAILURES,
        "rebuilds the move from the claims and the agents' journals",
        _adopt_destinations,
        "promise [13] is broken",
    ),
    "forgotten revert": Plant(
        _RETURNS, "a confirm asks for the destination", _end_sources_unasked, WRONGLY_ENDED, is_rare=True
    ),
    "forgotten resize": Plant(
        _FAILURES,
        "A resize has its flavor and its amounts again",
        _adopt_no_amounts,
        "does not count",
    ),
    "forgotten move, deleted": Plant(
        *(_FAILURES, "Guests and claims at both ends of the move end before the record is DELETED"),
        *(_leave_claims, "promise [34] is broken"),
        is_rare=True,
    ),
    "forgotten move without a destination": Plant(
        _CLAIMS,
        "source --> only: end_moves, once no destination has a claim",
        _leave_sources,
        NEVER_RESTS,
        is_rare=True,
    ),
    "forgotten revert across partitions, confirmed": Plant(
        "adr/0342-a-store-that-forgot-ends-no-guest.md",
        "looks for the source in the other partitions also if the record knows that move and has ended it",
        _settle_with_one_partition,
        "promise . is broken",
        is_across=True,
    ),
}
