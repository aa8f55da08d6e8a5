# SPDX-License-Identifier: Apache-2.0
"""What would be decided now: the deciding of a call without its claims, and without a record."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from rpcapi import errors
from scheduler_svc.deciding.asked import Asked
from scheduler_svc.deciding.claimer import CHUNK
from scheduler_svc.deciding.decision import Decision, Look
from scheduler_svc.deciding.intake import Intake
from scheduler_svc.deciding.prospects import Prospects
from scheduler_svc.deciding.select import Selector
from scheduler_svc.drivers.driver import Driver
from scheduler_svc.partitions import Partitions
from scheduler_svc.request import Request

ANSWER = "dry run"


class Outcome(NamedTuple):
    """What would be decided, and in which partition."""

    partition: str
    document: dict[str, Any]


class DryRun:
    """Decides as a Chooser does, on the same table, and changes nothing; safe to call from many threads.

    It asks the stores only what a decision asks before it claims.
    """

    def __init__(self, partitions: Partitions, selectors: Sequence[Selector], intake: Intake) -> None:
        """``selectors`` are those of all partitions, in their order; they are used for their looks alone."""
        self._partitions = partitions
        self._selectors = selectors
        self._intake = intake

    @property
    def driver(self) -> Driver:
        """The driver of all partitions."""
        return self._selectors[0].driver

    @driver.setter
    def driver(self, driver: Driver) -> None:
        for each in self._selectors:
            each.driver = driver

    def decide(self, request: Request, count: int) -> Outcome:
        """Decide for ``count`` instances, or for as many of them as one claim script takes.

        Raises UnknownDriver, UnknownHost for a forced host that nobody knows, NotReady, StoreUnavailable where no
        partition answers, and NoValidHost or InvalidSpec where a prefilter knows that no host could do.
        """
        self.driver.check(request)
        request = self._intake.take(request)
        table = self._selectors[0].table
        for name in request.force_hosts:
            if not table.homes(name):
                raise errors.UnknownHost(name=name)
        away = [each.name for each in self._partitions if each.presence.away]
        if len(away) == len(self._partitions):
            raise errors.StoreUnavailable(why=f"none of the partitions {', '.join(away)} answers")
        request = replace(self._informed(request, away), away=tuple(away))
        asked = Asked(request, [f"instance {number}" for number in range(1, count + 1)])
        prospects = Prospects(asked, self._selectors, away)
        best = prospects.best()
        selector = self._find(best) if best else self._selectors[0]
        look = prospects.look(best) if best else prospects.common
        if look is None:
            look = selector.look(replace(request, partition=best), min(CHUNK, count))
        why = None if best else prospects.refusal({})
        return Outcome(selector.partition, self._document(asked, selector, look, why))

    def _document(self, asked: Asked, selector: Selector, look: Look, why: errors.GanttError | None) -> dict[str, Any]:
        with selector.table.reading() as view:
            fallen = look.samples or selector.driver.fallen(view, asked.request)
            standing = view.standing(selector.number)
        driver = selector.driver.name_for(asked.request)
        decision = Decision(asked, 0, 0, replace(look, samples=fallen), standing, driver, selector.heard_s)
        ranked = [list(names) for names in look.ranking.candidates]
        told: dict[str, Any] = {
            "at_ms": round(1000 * time.time()),
            "dry_run": True,
            "outcome": "refused" if why else "selected",
            "candidates": ranked,
            "verdicts": [
                {"consumer": consumer, "answer": ANSWER, "host": names[0], "tried": []}
                for consumer, names in zip(asked.consumers, ranked, strict=False)
            ],
        }
        return {**decision.document(), **told, **({"why": why.sentence} if why else {})}

    def _informed(self, request: Request, away: Sequence[str]) -> Request:
        """Return the request with what the stores know of its group, kept to the partition that has its members."""
        if request.group is None:
            return request
        there = [each for each in self._partitions if each.name not in away]
        members = {each.name: sum(each.store.group_hosts(request.group.id).values()) for each in there}
        home = max(members, key=lambda name: members[name])
        informed = self._find(home).informed(request)
        return replace(informed, partition=home) if members[home] and len(there) > 1 else informed

    def _find(self, partition: str) -> Selector:
        return next(each for each in self._selectors if each.partition == partition)
