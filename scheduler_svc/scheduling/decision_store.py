# SPDX-License-Identifier: Apache-2.0
"""The part of a partition's store that decisions use."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from scheduler_svc.core.records import BatchAnswer, BatchOutcomes, Claim, ClaimBatch


class DecisionStore(Protocol):
    """Store methods used by a decision; ``record_decision`` is for refusals without ``prepare_all``."""

    def prepare_all(self, batches: Sequence[ClaimBatch], log_after: int | None = None) -> BatchOutcomes:
        """Claim all intents of each batch, or none; with ``log_after``, also return the log entries after it."""

    def group_hosts(self, group_id: str) -> dict[str, int]:
        """Return the number of a server group's live claims per node."""

    def hosts_of(self, consumers: Sequence[str]) -> dict[str, str]:
        """Return the node of each consumer that has a live claim."""

    def sources_of(self, consumers: Sequence[str], group_id: str) -> dict[str, str]:
        """Return the source node of each consumer that moves as a member of the group."""

    def record_decision(self, request_id: str, document: Mapping[str, Any]) -> None:
        """Store a decision record."""


class ClaimStore(DecisionStore, Protocol):
    def prepare(self, batch: ClaimBatch) -> BatchAnswer:
        """Claim all intents of the batch, or none."""

    def claims(self, *, consumer: str) -> tuple[list[Claim], str | None]:
        """Return the claims of a consumer, and a marker that is unused here."""
