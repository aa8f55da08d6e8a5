# SPDX-License-Identifier: Apache-2.0
"""What the deciding core uses of a partition's store."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from scheduler_svc.core.records import BatchAnswer, BatchOutcomes, Claim, ClaimBatch


class DecisionStore(Protocol):
    """The store's methods that a decision uses.

    ``record_decision`` gets only refusals that never reach ``prepare_all``, which records all other decisions.
    """

    def prepare_all(self, batches: Sequence[ClaimBatch], log_after: int | None = None) -> BatchOutcomes:
        """Claim all intents of each batch, or none; with ``log_after``, return the log's entries after it too."""

    def group_hosts(self, group_id: str) -> dict[str, int]:
        """Return the number of live claims of a server group on each host."""

    def hosts_of(self, consumers: Sequence[str]) -> dict[str, str]:
        """Return the node of each consumer's live claim."""

    def sources_of(self, consumers: Sequence[str], group_id: str) -> dict[str, str]:
        """Return the node on which each consumer that moves counts already as a member of a server group."""

    def record_decision(self, request_id: str, document: Mapping[str, Any]) -> None:
        """Store a decision record."""


class ClaimStore(DecisionStore, Protocol):
    """A store that can also claim a single batch, and list claims."""

    def prepare(self, batch: ClaimBatch) -> BatchAnswer:
        """Claim all intents of the batch, or none."""

    def claims(self, *, consumer: str) -> tuple[list[Claim], str | None]:
        """Return the claims of a consumer, and a paging marker that is unused here."""
