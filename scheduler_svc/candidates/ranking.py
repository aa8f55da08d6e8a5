# SPDX-License-Identifier: Apache-2.0
"""A driver's ranking, with what each host's tree gives each instance; hosts whose tree gives nothing fall out."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rpcapi.model.tree_search import Miss
from rpcapi.model.trees import Allocations
from scheduler_svc.candidates.finder import Finder
from scheduler_svc.drivers.driver import Driver, Ranking, width
from scheduler_svc.filters.samples import MOST
from scheduler_svc.request import Request
from scheduler_svc.table.view import View

ENOUGH = 3  # rankings for one instance that has a candidate: others can only be worse
REASON_REST = "no provider tree fits beside the rest of this request"


def rank(driver: Driver, view: View, request: Request, count: int, seed: int) -> Ranking:
    """Return ``driver``'s ranking of hosts that can really serve the request, with allocations where need be.

    The columns that it ranks by tell whose tree could serve each part of a request by itself. A host whose tree cannot
    serve all of them together is left out, and the others are ranked once more, until the search's steps are spent.
    """
    ranking = driver.rank(view, request, count, seed)
    finder = Finder(view, request)
    if not ranking.candidates or not finder.is_needed:
        return ranking
    plan = _Plan(view, request, finder, ranking)
    rankings = 1
    while plan.make() and not plan.is_enough(count, rankings):
        following = driver.rank(view.limited(plan.most), request, count, seed)
        if not following.candidates and plan.is_served:
            break
        plan.on = following
        rankings += 1
    return plan.ranking()


def fitted(view: View, request: Request, ranking: Ranking) -> Ranking | None:
    """Return one ranking with allocations where need be, less the hosts whose trees give nothing.

    None: they were all that some instance had, and it is better ranked by itself.
    """
    finder = Finder(view, request)
    if not ranking.candidates or not finder.is_needed:
        return ranking
    plan = _Plan(view, request, finder, ranking)
    plan.make()
    return plan.ranking() if plan.is_served else None


class _Plan:
    """Who is given what, in the order of a ranking's instances: each takes the first of its hosts that gives it any.

    ``most`` tells how many instances a row takes in all, where that was found to be fewer than its columns let hope.
    """

    def __init__(self, view: View, request: Request, finder: Finder, on: Ranking) -> None:
        self.on = on
        self.most: dict[int, int] = {}
        self._hosts = on.hosts
        self._view = view
        self._request = request
        self._finder = finder
        self._missed: dict[int, Miss] = {}
        self._given: list[dict[str, Allocations | None]] = []

    @property
    def is_served(self) -> bool:
        """Tell whether each instance has a host."""
        return bool(self._given) and all(self._given)

    def is_enough(self, count: int, rankings: int) -> bool:
        """Tell whether another ranking would make it no better, or not by so much."""
        if not self.is_served:
            return self._finder.is_spent
        return count > 1 or rankings >= ENOUGH or len(self._given[0]) >= width(count)

    def make(self) -> bool:
        """Give the instances of the ranking what they can have; tell whether that taught anything of a host."""
        known = dict(self.most)
        homes = self._view.homes({name for names in self.on.candidates for name in names})
        rows = {name: row for name, number in homes.items() if (row := self._view.row(name, number)) is not None}
        if self._request.together:
            self._given = self._together(rows)
        else:
            self._finder.start_over()
            taken: Counter[int] = Counter()
            self._given = [self._one([(name, rows[name]) for name in names], taken) for names in self.on.candidates]
        return self.most != known

    def ranking(self) -> Ranking:
        """Return the ranking with what is given; without candidates where not every instance is given anything."""
        reasons = Counter(self.on.reasons)
        reasons.update(str(self._missed[row]) for row, most in self.most.items() if not most)
        if not self.is_served:
            rest = self._hosts - reasons.total()
            if rest > 0:
                reasons[str(Miss.STEPS) if self._finder.is_spent else REASON_REST] += rest
            return Ranking((), self._hosts, dict(reasons), samples=self._samples())
        candidates = [list(given) for given in self._given]
        allocations = [{name: each for name, each in given.items() if each is not None} for given in self._given]
        near = sum(name in self._given[0] for name in self.on.candidates[0][: self.on.near])
        return replace(
            self.on,
            candidates=candidates,
            hosts=self._hosts,
            reasons=dict(reasons),
            near=max(1, near),
            allocations=allocations if any(allocations) else (),
        )

    def _samples(self) -> dict[str, list[str]]:
        """Return up to MOST names of hosts whose trees give nothing, by why."""
        found: dict[str, list[str]] = {}
        for row in sorted(row for row, most in self.most.items() if not most):
            names = found.setdefault(str(self._missed[row]), [])
            if len(names) < MOST:
                names.append(self._view.name(row))
        return found

    def _one(self, hosts: Sequence[tuple[str, int]], taken: Counter[int]) -> dict[str, Allocations | None]:
        """Return what one instance would be given at each host that gives it anything, and give it the first."""
        given: dict[str, Allocations | None] = {}
        for name, row in hosts:
            offer = self._finder.offer(row)
            if isinstance(offer, Miss):
                self._note(row, taken[row], offer)
            else:
                given[name] = offer.allocations
        if given:
            first = next(row for name, row in hosts if name in given)
            self._finder.take(first)
            taken[first] += 1
        return given

    def _together(self, rows: Mapping[str, int]) -> list[dict[str, Allocations | None]]:
        """Return what each instance is given at every host that takes them all."""
        given: list[dict[str, Allocations | None]] = [{} for _ in self.on.candidates]
        for name in self.on.candidates[0]:
            self._finder.start_over()
            its = []
            for number in range(len(given)):
                offer = self._finder.offer(rows[name])
                if isinstance(offer, Miss):
                    self._note(rows[name], number, offer)
                    break
                its.append(self._finder.take(rows[name]))
            if len(its) == len(given):
                for one, allocations in zip(given, its, strict=True):
                    one[name] = allocations
        return given

    def _note(self, row: int, most: int, why: Miss) -> None:
        if most < self.most.get(row, most + 1):
            self.most[row] = most
            self._missed[row] = why
