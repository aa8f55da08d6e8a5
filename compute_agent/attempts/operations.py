# SPDX-License-Identifier: Apache-2.0
"""Reboots and rebuilds requested by numbered messages, each number executed once."""

from collections.abc import Sequence
from dataclasses import dataclass

from compute_agent.attempt import AttemptRef, Stage
from compute_agent.attempts.guest_allocations import GuestManager
from rpcapi.objects.guest import REBUILD


@dataclass(frozen=True, slots=True)
class GuestOperation:
    """Row of rpcapi.objects.GuestOperations; ``image`` is the id or name of a new image, "" for none."""

    ref: AttemptRef
    action: str
    number: int
    image: str = ""


def apply_operations(
    guest_manager: GuestManager, operations: Sequence[GuestOperation], request_id: str, owner: dict[str, str]
) -> None:
    """Execute each operation; the saga then starts the guests.

    Ends the claim of a guest that the journal does not have. The number is journalled after the change, so that after a
    crash in between a repeated message changes the guest twice.
    """
    for operation in operations:
        attempt = guest_manager.journal.get(operation.ref)
        if attempt is None:
            guest_manager.end_unknown(operation.ref, request_id, owner)
        elif not attempt.live or operation.number <= attempt.operation or attempt.stopped_for:
            # Only its move may start a guest that was stopped for a move. The report names the move.
            guest_manager.journal.report_again(attempt.ref)
        elif attempt.stage is Stage.INTENT:
            continue  # the guest has not started; the conductor repeats its message
        elif operation.action == REBUILD:
            guest_manager.rebuild(attempt, operation.number, operation.image)
        else:
            guest_manager.reboot(attempt, operation.number)
