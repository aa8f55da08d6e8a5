# SPDX-License-Identifier: Apache-2.0
"""Decisions without claims: shadow mode next to the active scheduler, and dry runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from rpcapi import errors
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import BatchAnswer, BatchOutcomes, ClaimBatch, Intent, IntentResult
from scheduler_svc.store.interface import Store
from scheduler_svc.store.records import GroupHome, GroupMembership

SHADOW = "shadow"  # outcome of decisions, and answer for each consumer


class ShadowStore:
    """Stand-in for a partition's store that accepts every first candidate and writes only decision records.

    A server group's home is the partition with its members, or else the proposed one.

    Args:
        record: Writes a decision record, by default to the store.
        on_decided: Called with each decided batch.
    """

    def __init__(
        self,
        store: Store,
        record: Callable[[str, Mapping[str, Any]], None] | None = None,
        on_decided: Callable[[ClaimBatch], None] = lambda batch: None,
    ) -> None:
        self.partition, self.accepts_claims = store.partition, store.accepts_claims
        self.group_hosts, self.hosts_of, self.sources_of = store.group_hosts, store.hosts_of, store.sources_of
        self.claims, self.begin_epoch_if_behind = store.claims, store.begin_epoch_if_behind
        self.record_decision = record or store.record_decision
        self._on_decided = on_decided

    def prepare_all(self, batches: Sequence[ClaimBatch], log_after: int | None = None) -> BatchOutcomes:
        """Answer and record the batches as if they were claimed. Raises StoreUnavailable."""
        answers = [_accept_first_candidates(batch) for batch in batches]
        if not all(answer.accepted for answer in answers):
            # A refusal needs the store's position: a table behind it must decide again.
            epoch, position = self.begin_epoch_if_behind(0, 0)
            answers = [
                answer if answer.accepted else replace(answer, epoch=epoch, position=position) for answer in answers
            ]
        for batch, answer in zip(batches, answers, strict=True):
            self._on_decided(batch)
            self.record_decision(batch.request_id, {**(batch.record or {}), **_shadow_fields(batch, answer)})
        return BatchOutcomes([*answers])

    def prepare(self, batch: ClaimBatch) -> NoReturn:
        """Raise NotClaimed, because a claim of alternates involves no decision that shadow mode could record."""
        raise errors.NotClaimed(request_id=batch.request_id, hosts=[])

    def pin(self, key: str, partition: str, ttl_ms: int, instead_of: str | None = None) -> str:
        return partition

    def group_home(self, group_id: str, partition: str, ttl_ms: int, instead_of: str = "") -> GroupHome:
        return GroupHome(partition, "")

    def leave_group(
        self, group_id: str, generation: str, ttl_ms: int, *, only_if_certain: bool = False
    ) -> GroupMembership:
        return GroupMembership(sum(self.group_hosts(group_id).values()), may_have_forgotten=False)


def _shadow_fields(batch: ClaimBatch, answer: BatchAnswer) -> dict[str, Any]:
    verdicts: list[dict[str, Any]] = [
        {
            "consumer": result.consumer,
            "answer": SHADOW if answer.accepted else str(result.answer),
            "host": result.host,
            "tried": [],
        }
        for result in answer.prepared
    ]
    outcome = SHADOW if answer.accepted else "refused"
    return {"mode": SHADOW, "outcome": outcome, "answered_position": batch.position, "verdicts": verdicts}


def _accept_first_candidates(batch: ClaimBatch) -> BatchAnswer:
    accepted = all(intent.candidates for intent in batch.intents)
    prepared = [_first_candidate(intent, batch.alternates, accepted) for intent in batch.intents]
    return BatchAnswer(accepted, True, batch.epoch, batch.position, prepared, claimed=False)


def _first_candidate(intent: Intent, alternates: int, accepted: bool) -> IntentResult:
    if not accepted:
        return IntentResult(intent.consumer, intent.attempt, Answer.REFUSED)
    names = [candidate.host for candidate in intent.candidates]
    return IntentResult(intent.consumer, intent.attempt, Answer.PREPARED, names[0], tuple(names[1 : 1 + alternates]))
