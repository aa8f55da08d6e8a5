# SPDX-License-Identifier: Apache-2.0
"""Shadow mode: what this scheduler would have decided, written down beside one that decides; nothing is claimed."""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Protocol

from rpcapi import errors
from rpcapi.context import RequestContext
from rpcapi.model.claims import Answer
from scheduler_svc.deciding.alternates import Alternates
from scheduler_svc.deciding.asked import Asked, Decided, Outcome
from scheduler_svc.deciding.partitioned import Chooser
from scheduler_svc.drivers.driver import Driver
from scheduler_svc.request import Request
from scheduler_svc.store.records import Batch, BatchAnswer, Ended, Intent, Prepared, Ref

SHADOW = "shadow"  # the outcome, and what each consumer was answered


class Book(Protocol):
    """What shadow mode asks of the store: nothing that changes a claim."""

    def record_decision(self, request_id: str, document: Mapping[str, Any]) -> None:
        """Keep the document of a decision."""

    def group_hosts(self, group_id: str) -> dict[str, int]:
        """Tell how many live claims of a server group each host holds."""


class ShadowClaimer:
    """Takes the store's place in a decision: the first candidate of each instance is taken for granted."""

    def __init__(self, book: Book) -> None:
        self._book = book

    def prepare(self, batch: Batch) -> BatchAnswer:
        """Record what would be asked for; raises StoreUnavailable."""
        accepted = all(intent.candidates for intent in batch.intents)
        prepared = [_granted(intent, batch.alternates, accepted) for intent in batch.intents]
        answered = {
            "mode": SHADOW,
            "outcome": SHADOW if accepted else "refused",
            "answered_position": batch.position,
            "verdicts": [
                {
                    "consumer": one.consumer,
                    "answer": SHADOW if accepted else str(one.answer),
                    "host": one.host,
                    "tried": [],
                }
                for one in prepared
            ],
        }
        self._book.record_decision(batch.request_id, {**(batch.record or {}), **answered})
        return BatchAnswer(accepted, True, batch.epoch, batch.position, prepared)

    def abort(self, refs: Sequence[Ref]) -> list[Ended]:
        """End nothing: nothing was claimed."""
        return []

    def group_hosts(self, group_id: str) -> dict[str, int]:
        """Tell where a group's claims are, which audits may have brought in."""
        return self._book.group_hosts(group_id)


def _granted(intent: Intent, alternates: int, accepted: bool) -> Prepared:
    if not accepted:
        return Prepared(intent.consumer, intent.attempt, Answer.REFUSED)
    names = [candidate.host for candidate in intent.candidates]
    return Prepared(intent.consumer, intent.attempt, Answer.PREPARED, names[0], tuple(names[1 : 1 + alternates]))


class ShadowChooser:
    """Decides and records as ``chooser`` does, and then answers that nothing was claimed.

    Each hundred instances of a request are decided on the same state: what the hundred before would have taken is not
    taken.
    """

    def __init__(self, chooser: Chooser) -> None:
        self._chooser = chooser

    @property
    def driver(self) -> Driver:
        """The driver that decides."""
        return self._chooser.driver

    @driver.setter
    def driver(self, driver: Driver) -> None:
        self._chooser.driver = driver

    def select(self, ctxt: RequestContext, asked: Asked) -> NoReturn:
        """Raise NotClaimed, naming the hosts; or NoValidHost, and whatever else a decision that claims raises."""
        decided = self._chooser.select(ctxt, asked)
        raise errors.NotClaimed(request_id=asked.request.id, hosts=[str(one.host) for one in decided.prepared])

    def select_batch(self, ctxt: RequestContext, asked: Sequence[Asked]) -> list[Outcome]:
        """Return what ``select`` would raise for each."""
        outcomes = self._chooser.select_batch(ctxt, asked)
        return [
            errors.NotClaimed(request_id=one.request.id, hosts=[str(each.host) for each in outcome.prepared])
            if isinstance(outcome, Decided)
            else outcome
            for one, outcome in zip(asked, outcomes, strict=True)
        ]


class ShadowAlternates(Alternates):
    """Claims no alternates either."""

    def prepare(self, ctxt: RequestContext, request: Request, batch: Batch) -> NoReturn:
        """Raise NotClaimed."""
        raise errors.NotClaimed(request_id=batch.request_id, hosts=[])
