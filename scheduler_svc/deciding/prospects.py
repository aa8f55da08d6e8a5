# SPDX-License-Identifier: Apache-2.0
"""Which partitions could take a request, the one with the best host first."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress

from rpcapi import errors
from rpcapi.model.claims import PARTITION_AWAY
from scheduler_svc.deciding import refusal
from scheduler_svc.deciding.asked import Asked, Refused
from scheduler_svc.deciding.claimer import CHUNK
from scheduler_svc.deciding.decision import Look
from scheduler_svc.deciding.select import Selector
from scheduler_svc.drivers.driver import NARROW


class Prospects:
    """Ranks all hosts together first, so that a host's score is the same whatever its partition.

    All instances of a call go to one partition: that of the best host, if it has room for all, else the next. A
    partition is looked at by itself only where the common look does not name enough of its hosts.
    """

    def __init__(self, asked: Asked, selectors: Sequence[Selector], away: Sequence[str]) -> None:
        """``selectors`` are those of all partitions, by their numbers in the table; ``away`` names some, not all."""
        self._asked = asked
        self._selectors = selectors
        self._away = frozenset(away)
        self._count = min(CHUNK, len(asked.consumers))
        self._passed: dict[str, Look] = {}
        self._looks: dict[str, Look] = {}
        first = next(self._ordered(()))
        self.common = first.look(replace(asked.request, away=tuple(away)), self._count)
        self._found = self._search()

    def best(self, but: Collection[str] = ()) -> str | None:
        """Return the best partition that could take all instances, ``but`` some; None where there is no other."""
        for name in self._looks:
            if name not in but:
                return name
        return next((name for name in self._found if name not in but), None)

    def look(self, partition: str) -> Look | None:
        """Return the look to begin with in a partition, None where it is yet to be taken."""
        return self._looks.get(partition) if self.common.ranking.candidates else self.common

    def refusal(self, refused: Mapping[str, Refused]) -> errors.NoValidHost:
        """Return what to answer when these partitions refused: the reasons of all that were looked at."""
        ranking = self.common.ranking
        if not ranking.candidates:
            return refusal.no_valid_host(ranking.hosts, ranking.reasons)
        counted: Counter[str] = Counter()
        for one in refused.values():
            counted.update(one.reasons)
        for name, look in self._passed.items():
            counted.update(look.ranking.reasons if name not in refused else {})
        counted.update({PARTITION_AWAY: ranking.reasons.get(PARTITION_AWAY, 0)})
        return refusal.no_valid_host(ranking.hosts, +counted)

    def _search(self) -> Iterator[str]:
        candidates, homes = self.common.ranking.candidates, self.common.homes
        numbers = list(dict.fromkeys(homes[name] for names in candidates for name in names))
        if len(numbers) == 1:
            name = self._selectors[numbers[0]].partition
            self._looks[name] = self.common
            yield name
        elif not numbers:
            return
        for selector in self._ordered(numbers):
            if selector.partition in self._looks:
                continue
            look = self._part(selector)
            if look.ranking.candidates:
                self._looks[selector.partition] = look
                yield selector.partition
            else:
                self._passed[selector.partition] = look

    def _part(self, selector: Selector) -> Look:
        """Return a look at one partition: the part of the common one where that is enough."""
        ranking, homes = self.common.ranking, self.common.homes
        if self._count == 1 and ranking.candidates:
            here = [homes[name] == selector.number for name in ranking.candidates[0]]
            if sum(here) > max(NARROW - 1, self._asked.alternates):
                kept = list(compress(ranking.candidates[0], here))
                near = max(1, sum(here[: ranking.near]))
                return replace(self.common, ranking=replace(ranking, candidates=[kept], near=near))
        return selector.look(replace(self._asked.request, partition=selector.partition), self._count)

    def _ordered(self, first: Sequence[int]) -> Iterator[Selector]:
        """Yield the selectors of partitions that answer: those of ``first``, then the others."""
        for number in dict.fromkeys([*first, *range(len(self._selectors))]):
            if self._selectors[number].partition not in self._away:
                yield self._selectors[number]
