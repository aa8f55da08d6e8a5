# SPDX-License-Identifier: Apache-2.0
"""What hosts report of attempts."""

from typing import NamedTuple

ACTIVE, STOPPED, INCOMING, GONE = "active", "stopped", "incoming", "gone"
OUTCOMES = (ACTIVE, STOPPED, INCOMING, "refused", "failed", GONE)


class BuildResult(NamedTuple):
    """The outcome of one attempt, as its host reports it; ``of`` is the instance where ``uuid`` is a migration's.

    ``copy_number`` and ``copy_phase`` are of the last copy from that host, as rpcapi.objects.copy has them; 0: none.
    """

    uuid: str
    attempt: int
    kind: str
    reason: str
    host: str
    operation: int = 0
    of: str = ""
    copy_number: int = 0
    copy_phase: str = ""

    @property
    def is_of_source(self) -> bool:
        """Whether it is about a guest at the source of a move, whose claim is that of the migration."""
        return bool(self.of)

    @property
    def instance(self) -> str:
        """The instance that the guest is."""
        return self.of or self.uuid
