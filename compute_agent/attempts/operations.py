# SPDX-License-Identifier: Apache-2.0
"""Operations on guests by request: reboot and rebuild, each executed once, whatever messages are repeated or late."""

from collections.abc import Sequence
from dataclasses import dataclass

from compute_agent.attempt import AttemptRef, Stage
from compute_agent.attempts.guest_allocations import GuestManager
from rpcapi.objects.operation import REBUILD


@dataclass(frozen=True, slots=True)
class GuestOperation:
    """One row of rpcapi.objects.GuestOperations; ``image`` is the id or name of another image, "" for the same one."""

    ref: AttemptRef
    action: str
    number: int
    image: str = ""


def apply_operations(
    guest_manager: GuestManager, operations: Sequence[GuestOperation], request_id: str, owner: dict[str, str]
) -> None:
    """Execute each operation; the saga then starts the guests. One of a guest that this host lacks ends its claim.

    The journal has the number of an operation after its guest was changed. A crash in between changes the guest once
    more when the message is repeated, and no message changes it after that.
    """
    for operation in operations:
        attempt = guest_manager.journal.get(operation.ref)
        if attempt is None:
            guest_manager.end_unknown(operation.ref, request_id, owner)
        elif not attempt.live or operation.number <= attempt.operation:
            guest_manager.journal.report_again(attempt.ref)
        elif attempt.stage is Stage.INTENT:
            continue  # nothing has been started; the conductor repeats its message
        elif operation.action == REBUILD:
            guest_manager.rebuild(attempt, operation.number, operation.image)
        else:
            guest_manager.reboot(attempt, operation.number)
