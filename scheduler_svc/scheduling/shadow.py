# SPDX-License-Identifier: Apache-2.0
"""Shadow mode: records decisions beside another, active scheduler; claims nothing."""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Protocol

from rpcapi import errors
from rpcapi.context import RequestContext
from rpcapi.resources.claims import Answer
from scheduler_svc.core.drivers.driver import Driver
from scheduler_svc.core.records import BatchAnswer, ClaimBatch, ClaimRef, ClaimResult, Intent, IntentResult
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.scheduling.alternates import AlternateClaimer
from scheduler_svc.scheduling.calls import SelectionCall, SelectionOutcome, SelectionResult
from scheduler_svc.scheduling.partitioned import HostSelector

SHADOW = "shadow"  # the outcome, and the answer for each consumer


class ShadowStore(Protocol):
    """The store's methods that shadow mode uses; none of them changes a claim."""

    def record_decision(self, request_id: str, document: Mapping[str, Any]) -> None:
        """Store a decision record."""

    def group_hosts(self, group_id: str) -> dict[str, int]:
        """Return the number of live claims of a server group on each host."""


class ShadowClaimer:
    """Stands in for the store in a decision: accepts the first candidate of each instance."""

    def __init__(self, store: ShadowStore) -> None:
        self._store = store

    def prepare(self, batch: ClaimBatch) -> BatchAnswer:
        """Record the batch as if it had been claimed; raises StoreUnavailable."""
        accepted = all(intent.candidates for intent in batch.intents)
        prepared = [_shadow_answer(intent, batch.alternates, accepted) for intent in batch.intents]
        answers = {
            "mode": SHADOW,
            "outcome": SHADOW if accepted else "refused",
            "answered_position": batch.position,
            "verdicts": [
                {
                    "consumer": result.consumer,
                    "answer": SHADOW if accepted else str(result.answer),
                    "host": result.host,
                    "tried": [],
                }
                for result in prepared
            ],
        }
        self._store.record_decision(batch.request_id, {**(batch.record or {}), **answers})
        return BatchAnswer(accepted, True, batch.epoch, batch.position, prepared)

    def abort(self, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
        """Do nothing: there are no claims."""
        return []

    def group_hosts(self, group_id: str) -> dict[str, int]:
        """Return the hosts of a group's claims, which audits may have added."""
        return self._store.group_hosts(group_id)


def _shadow_answer(intent: Intent, alternates: int, accepted: bool) -> IntentResult:
    if not accepted:
        return IntentResult(intent.consumer, intent.attempt, Answer.REFUSED)
    names = [candidate.host for candidate in intent.candidates]
    return IntentResult(intent.consumer, intent.attempt, Answer.PREPARED, names[0], tuple(names[1 : 1 + alternates]))


class ShadowSelector:
    """Decides and records as ``selector`` does, then answers that nothing was claimed.

    All chunks of a large request are decided on the same state: a chunk does not see what the one before selected.
    """

    def __init__(self, selector: HostSelector) -> None:
        self._selector = selector

    @property
    def driver(self) -> Driver:
        """The driver that ranks hosts."""
        return self._selector.driver

    @driver.setter
    def driver(self, driver: Driver) -> None:
        self._selector.driver = driver

    def select(self, ctxt: RequestContext, call: SelectionCall) -> NoReturn:
        """Raise NotClaimed with the selected hosts, or any error that a claiming selector raises."""
        selection = self._selector.select(ctxt, call)
        raise errors.NotClaimed(request_id=call.request.id, hosts=[str(result.host) for result in selection.prepared])

    def select_batch(self, ctxt: RequestContext, calls: Sequence[SelectionCall]) -> list[SelectionOutcome]:
        """Return for each call the error that ``select`` would raise."""
        outcomes = self._selector.select_batch(ctxt, calls)
        return [
            errors.NotClaimed(request_id=call.request.id, hosts=[str(result.host) for result in outcome.prepared])
            if isinstance(outcome, SelectionResult)
            else outcome
            for call, outcome in zip(calls, outcomes, strict=True)
        ]


class ShadowAlternateClaimer(AlternateClaimer):
    """Refuses to claim alternates."""

    def prepare(self, ctxt: RequestContext, request: SchedulingRequest, batch: ClaimBatch) -> NoReturn:
        """Raise NotClaimed."""
        raise errors.NotClaimed(request_id=batch.request_id, hosts=[])
