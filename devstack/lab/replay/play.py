# SPDX-License-Identifier: Apache-2.0
"""One replay: a trace's arrivals and departures in order, with whoever places."""

import heapq
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from devstack.lab.regret import Choice
from devstack.lab.replay.arrivals import Moment, Survey, Wanted
from devstack.lab.replay.observer import Observer, Sample
from devstack.lab.replay.oracle import Foresight
from devstack.lab.replay.placer import Given, Placed, Placer

SAMPLES = 200  # looks over the length of the trace
VERIFIED = 8  # of them with a recount of the store's sums
PIECE = 500  # requests or departures between two looks at the log: fewer than any log holds


@dataclass(frozen=True, slots=True)
class FirstRefusal:
    """When a driver refused first: the server's number from 1, and how much of the scarcer class was in use."""

    request: int
    fill: float


@dataclass(slots=True)
class Run:
    """What became of a trace: counts of servers, and what was seen on the way.

    ``avoidable`` are servers that were refused while the hosts, as they were just then, had room for the request.
    ``lost`` were refused and the oracle placed them, ``gained`` the other way round.
    """

    placed: int = 0
    refused: int = 0
    avoidable: int = 0
    lost: int = 0
    gained: int = 0
    overcommit: int = 0
    first_refusal: FirstRefusal | None = None
    seconds: float = 0.0
    samples: list[Sample] = field(default_factory=list)
    choices: Sequence[Choice] = ()


class Play:
    """Goes through a trace once."""

    def __init__(self, placer: Placer, observer: Observer, survey: Survey, foresight: Foresight) -> None:
        self._placer = placer
        self._observer = observer
        self._survey = survey
        self._foresight = foresight
        self._running: list[tuple[float, int, Placed]] = []
        self.run = Run()

    def through(self, moments: Iterable[Moment], bar: Any) -> Run:
        """Let leave who leaves, and place who arrives, moment by moment; return what became of all."""
        for moment in moments:
            self._sample_until(moment.at)
            for leaving in _pieces(self._leaving(moment.at)):
                self._placer.leave(leaving)
                self._observer.catch_up()
            for wanted in _pieces(moment.wanted):
                self._count(wanted, self._placer.place(wanted, self._refused))
                self._observer.catch_up()
                bar.update(sum(len(one.members) for one in wanted))
        self._sample_until(float("inf"))
        self.run.seconds, self.run.choices = self._placer.seconds, self._observer.choices
        return self.run

    def _leaving(self, at: float) -> Iterator[Placed]:
        while self._running and self._running[0][0] <= at:
            yield heapq.heappop(self._running)[2]

    def _refused(self, one: Wanted) -> None:
        self._observer.catch_up()
        if self._observer.could_take(one.resources, len(one.members)):
            self.run.avoidable += len(one.members)
        if self.run.first_refusal is None:
            fill = self._observer.sample(0).fill
            self.run.first_refusal = FirstRefusal(one.members[0].number + 1, fill)

    def _count(self, wanted: Sequence[Wanted], given: Sequence[Given]) -> None:
        for one, hosts in zip(wanted, given, strict=True):
            foreseen = [bool(self._foresight.placed[member.number]) for member in one.members]
            if hosts is None:
                self.run.refused += len(one.members)
                self.run.lost += sum(foreseen)
                continue
            self.run.placed += len(one.members)
            self.run.gained += len(foreseen) - sum(foreseen)
            for member, host in zip(one.members, hosts, strict=True):
                if member.ends is not None:
                    heapq.heappush(self._running, (member.ends, member.number, Placed(member, host)))

    def _sample_until(self, at: float) -> None:
        """Look at the state that the last moment left, as often as looks are due until ``at``."""
        begins, span = self._survey.begins, self._survey.ends - self._survey.begins
        while len(self.run.samples) < SAMPLES:
            due = begins + (len(self.run.samples) + 1) * span / SAMPLES
            if due >= at:
                return
            self.run.samples.append(self._observer.sample(due))
            if len(self.run.samples) % (SAMPLES // VERIFIED) == 0:
                found = self._placer.store.verify()
                self.run.overcommit += len(found.excess) + len(found.problems)


def _pieces(them: Iterable[Any]) -> Iterator[Sequence[Any]]:
    source = iter(them)
    while piece := list(itertools.islice(source, PIECE)):
        yield piece
