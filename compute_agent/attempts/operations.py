# SPDX-License-Identifier: Apache-2.0
"""Operations on guests by request: reboot and rebuild, each executed once, whatever messages are repeated or late."""

from collections.abc import Sequence
from dataclasses import dataclass

from compute_agent.attempt import AttemptRef, Stage
from compute_agent.attempts.guest_allocations import GuestManager
from compute_agent.clock import Clock, wall_ms
from rpcapi.objects.operation import REBUILD


@dataclass(frozen=True, slots=True)
class GuestOperation:
    """One row of rpcapi.objects.GuestOperations; ``image`` is the id or name of another image, "" for the same one."""

    ref: AttemptRef
    action: str
    number: int
    image: str = ""


class OperationController:
    """Applies operations to the guests and the journal; the saga then starts the guests and reports.

    The journal has the number of an operation after its guest was changed. A crash in between changes the guest once
    more when the message is repeated, and no message changes it after that.
    """

    def __init__(self, guest_manager: GuestManager, clock: Clock = wall_ms) -> None:
        self._guest_manager = guest_manager
        self._journal = guest_manager.journal
        self._clock = clock

    def apply(self, operations: Sequence[GuestOperation], request_id: str, owner: dict[str, str]) -> None:
        """Execute each operation; one of a guest that this host does not have ends its claim."""
        for operation in operations:
            attempt = self._journal.get(operation.ref)
            if attempt is None:
                self._guest_manager.end_unknown(operation.ref, self._clock(), request_id, owner)
            elif not attempt.live or operation.number <= attempt.operation:
                self._journal.report_again(attempt.ref)
            elif attempt.stage is Stage.INTENT:
                continue  # nothing has been started; the conductor repeats its message
            elif operation.action == REBUILD:
                self._guest_manager.rebuild(attempt, operation.number, operation.image, self._clock())
            else:
                self._guest_manager.reboot(attempt, operation.number, self._clock())
