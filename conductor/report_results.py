# SPDX-License-Identifier: Apache-2.0
"""What hosts report of attempts."""

from typing import NamedTuple

ACTIVE, STOPPED, GONE = "active", "stopped", "gone"
OUTCOMES = (ACTIVE, STOPPED, "refused", "failed", GONE)


class BuildResult(NamedTuple):
    """The outcome of one attempt, as its host reports it; ``of`` is the instance where ``uuid`` is a migration's."""

    uuid: str
    attempt: int
    kind: str
    reason: str
    host: str
    operation: int = 0
    of: str = ""

    @property
    def is_of_source(self) -> bool:
        """Whether it is about a guest at the source of a move, whose claim is that of the migration."""
        return bool(self.of)

    @property
    def instance(self) -> str:
        """The instance that the guest is."""
        return self.of or self.uuid
