# SPDX-License-Identifier: Apache-2.0
"""The write interface of the deciding core to a partition's store."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import BatchAnswer, BatchOutcomes, Claim, ClaimBatch, Intent, IntentResult
from scheduler_svc.scheduling.calls import RefusedCall, SelectionCall, SelectionResult


class DecisionStore(Protocol):
    """The store's methods that a decision uses."""

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


class Claimer(DecisionStore, Protocol):
    """Claims the candidates of a decision in one partition, or does something else with them.

    ``record_decision`` gets only refusals that never reach ``prepare_all``, which records all other decisions.
    """

    def conclude(self, call: SelectionCall, result: SelectionResult) -> SelectionResult | RefusedCall:
        """Return the outcome of a call whose batch was accepted."""


class StoreClaimer:
    """Claims candidates in the store."""

    def __init__(self, store: DecisionStore) -> None:
        self._store = store

    def prepare_all(self, batches: Sequence[ClaimBatch], log_after: int | None = None) -> BatchOutcomes:
        """Claim all intents of each batch, or none; raises StoreUnavailable where it is unknown which."""
        return self._store.prepare_all(batches, log_after)

    def group_hosts(self, group_id: str) -> dict[str, int]:
        """Return the number of live claims of a server group on each host."""
        return self._store.group_hosts(group_id)

    def hosts_of(self, consumers: Sequence[str]) -> dict[str, str]:
        """Return the node of each consumer's live claim."""
        return self._store.hosts_of(consumers)

    def sources_of(self, consumers: Sequence[str], group_id: str) -> dict[str, str]:
        """Return the node on which each consumer that moves counts already as a member of a server group."""
        return self._store.sources_of(consumers, group_id)

    def record_decision(self, request_id: str, document: Mapping[str, Any]) -> None:
        """Store a decision record."""
        self._store.record_decision(request_id, document)

    def conclude(self, call: SelectionCall, result: SelectionResult) -> SelectionResult | RefusedCall:
        """Return the claims."""
        return result


def accept_first_candidates(batch: ClaimBatch) -> BatchAnswer:
    """Return the answer of a store in which the first candidate of each instance could be claimed."""
    accepted = all(intent.candidates for intent in batch.intents)
    prepared = [_first_candidate(intent, batch.alternates, accepted) for intent in batch.intents]
    return BatchAnswer(accepted, True, batch.epoch, batch.position, prepared)


def _first_candidate(intent: Intent, alternates: int, accepted: bool) -> IntentResult:
    if not accepted:
        return IntentResult(intent.consumer, intent.attempt, Answer.REFUSED)
    names = [candidate.host for candidate in intent.candidates]
    return IntentResult(intent.consumer, intent.attempt, Answer.PREPARED, names[0], tuple(names[1 : 1 + alternates]))
