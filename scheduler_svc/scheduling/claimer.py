# SPDX-License-Identifier: Apache-2.0
"""The write interface of the deciding core to a partition's store."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from scheduler_svc.core.records import BatchAnswer, Claim, ClaimBatch, ClaimRef, ClaimResult

CHUNK = 100  # instances that one claim script takes

DecisionRecorder = Callable[[str, Mapping[str, Any]], None]  # stores a decision record by request id


class Claimer(Protocol):
    """Claims the candidates of a decision, or returns why they cannot be claimed."""

    def prepare(self, batch: ClaimBatch) -> BatchAnswer:
        """Claim all intents of the batch, or none."""

    def abort(self, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
        """Abort prepared claims."""

    def group_hosts(self, group_id: str) -> dict[str, int]:
        """Return the number of live claims of a server group on each host."""


class ClaimStore(Claimer, Protocol):
    """A claimer that can also list claims."""

    def claims(self, *, consumer: str) -> tuple[list[Claim], str | None]:
        """Return the claims of a consumer, and a paging marker that is unused here."""
