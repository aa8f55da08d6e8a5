# SPDX-License-Identifier: Apache-2.0
"""Shadow mode: decisions and records next to the active scheduler, without claims."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from rpcapi import errors
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import BatchAnswer, BatchOutcomes, ClaimBatch, Intent, IntentResult
from scheduler_svc.scheduling.interfaces import ClaimStore

SHADOW = "shadow"  # outcome of decisions, and answer for each consumer

RecordDecision = Callable[[str, Mapping[str, Any]], None]  # called with (request id, document)


class ShadowStore:
    """Stand-in for a partition's store that accepts every first candidate and claims nothing."""

    def __init__(self, store: ClaimStore, record: RecordDecision | None = None) -> None:
        """``record`` stores decision records, by default in the store."""
        self.group_hosts, self.hosts_of, self.sources_of = store.group_hosts, store.hosts_of, store.sources_of
        self.claims = store.claims
        self.record_decision = record or store.record_decision

    def prepare_all(self, batches: Sequence[ClaimBatch], log_after: int | None = None) -> BatchOutcomes:
        """Answer and record the batches as if they were claimed. Raises StoreUnavailable."""
        answers = [_accept_first_candidates(batch) for batch in batches]
        for batch, answer in zip(batches, answers, strict=True):
            self.record_answer(batch, answer)
        return BatchOutcomes([*answers])

    def record_answer(self, batch: ClaimBatch, answer: BatchAnswer) -> None:
        verdicts: list[dict[str, Any]] = [
            {
                "consumer": result.consumer,
                "answer": SHADOW if answer.accepted else str(result.answer),
                "host": result.host,
                "tried": [],
            }
            for result in answer.prepared
        ]
        shadow_fields = {
            "mode": SHADOW,
            "outcome": SHADOW if answer.accepted else "refused",
            "answered_position": batch.position,
            "verdicts": verdicts,
        }
        self.record_decision(batch.request_id, {**(batch.record or {}), **shadow_fields})

    def prepare(self, batch: ClaimBatch) -> NoReturn:
        """Raise NotClaimed, because a claim of alternates involves no decision that shadow mode could record."""
        raise errors.NotClaimed(request_id=batch.request_id, hosts=[])


def _accept_first_candidates(batch: ClaimBatch) -> BatchAnswer:
    accepted = all(intent.candidates for intent in batch.intents)
    prepared = [_first_candidate(intent, batch.alternates, accepted) for intent in batch.intents]
    return BatchAnswer(accepted, True, batch.epoch, batch.position, prepared, claimed=False)


def _first_candidate(intent: Intent, alternates: int, accepted: bool) -> IntentResult:
    if not accepted:
        return IntentResult(intent.consumer, intent.attempt, Answer.REFUSED)
    names = [candidate.host for candidate in intent.candidates]
    return IntentResult(intent.consumer, intent.attempt, Answer.PREPARED, names[0], tuple(names[1 : 1 + alternates]))
