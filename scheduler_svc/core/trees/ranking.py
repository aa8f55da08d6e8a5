# SPDX-License-Identifier: Apache-2.0
"""Allocations for a driver's ranking, without the hosts whose provider trees do not fit."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from rpcapi.resources.trees.search import RETRY_FACTOR, NoCandidateReason
from rpcapi.resources.trees.tree import Allocations
from scheduler_svc.core.drivers.driver import Driver, Ranking, max_candidates
from scheduler_svc.core.filtering.survey import MAX_SAMPLES
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View
from scheduler_svc.core.trees.finder import AllocationFinder

MAX_RANKINGS = 3  # limit for a single instance that has a candidate: more rankings would only find worse hosts
REASON_REQUEST_TREES = "no provider tree fits with the rest of this request"


def rank(driver: Driver, view: View, request: SchedulingRequest, count: int, seed: int) -> Ranking:
    """Return ``driver``'s ranking of hosts whose trees fit, with allocations where needed.

    Columns show only which trees could serve each part of a request alone. Hosts that cannot serve all parts together
    are dropped and the rest ranked again, until the search steps are used up. If no ranking serves the request, new
    steps go to the hosts without a search; if these do not serve it either, all undecided hosts are searched with more.
    """
    ranking = driver.rank(view, request, count, seed)
    finder = AllocationFinder(view, request, count)
    if not ranking.candidates or not finder.is_needed:
        return ranking

    def rank_rest() -> Ranking:
        return driver.rank(view.with_instance_limits(plan.instance_limits), request, count, seed)

    def search_again(rows: Iterable[int], finder: AllocationFinder) -> None:
        plan.release(rows, finder)
        plan.base = rank_rest()
        plan.improve(rank_rest, count)

    plan = _AssignmentPlan(view, request, finder, ranking)
    plan.improve(rank_rest, count)
    if not plan.is_served and finder.is_exhausted:
        search_again(plan.undecided_rows() & finder.unsearched_rows, AllocationFinder(view, request, count))
    if not plan.is_served and plan.is_undecided:
        search_again(plan.undecided_rows(), AllocationFinder(view, request, count, RETRY_FACTOR))
    return plan.ranking()


def fit_to_trees(view: View, request: SchedulingRequest, ranking: Ranking) -> Ranking | None:
    """Add allocations and drop hosts whose trees do not fit. Return None if an instance has no host left."""
    finder = AllocationFinder(view, request, len(ranking.candidates))
    if not ranking.candidates or not finder.is_needed:
        return ranking
    plan = _AssignmentPlan(view, request, finder, ranking)
    plan.assign()
    return plan.ranking() if plan.is_served else None


class _AssignmentPlan:
    """Plan in which each instance, in order, takes its first host that fits."""

    def __init__(self, view: View, request: SchedulingRequest, finder: AllocationFinder, base: Ranking) -> None:
        self.base = base
        self.instance_limits: dict[int, int] = {}
        self._hosts = base.hosts
        self._view = view
        self._request = request
        self._finder = finder
        self._miss_reasons: dict[int, NoCandidateReason] = {}
        self._assignments: list[dict[str, Allocations | None]] = []

    @property
    def is_served(self) -> bool:
        return bool(self._assignments) and all(self._assignments)

    @property
    def is_undecided(self) -> bool:
        """Whether a host without an allocation may fit."""
        return self._finder.is_exhausted or bool(self.undecided_rows())

    def undecided_rows(self) -> set[int]:
        return {row for row, reason in self._miss_reasons.items() if reason is NoCandidateReason.UNDECIDED}

    def release(self, rows: Iterable[int], finder: AllocationFinder) -> None:
        """Lift the limits of rows, for another search by ``finder``."""
        self._finder = finder
        for row in rows:
            del self._miss_reasons[row], self.instance_limits[row]

    def improve(self, rank_rest: Callable[[], Ranking], count: int) -> None:
        """Assign allocations. Rank again without the hosts that do not fit, while that may help."""
        rankings = 1
        while self.base.candidates and self.assign() and not self._is_enough(count, rankings):
            next_ranking = rank_rest()
            if not next_ranking.candidates and self.is_served:
                break
            self.base = next_ranking
            rankings += 1

    def _is_enough(self, count: int, rankings: int) -> bool:
        if not self.is_served:
            return self._finder.is_exhausted
        return count > 1 or rankings >= MAX_RANKINGS or len(self._assignments[0]) >= max_candidates(count)

    def assign(self) -> bool:
        """Assign allocations to all instances. Return whether any host's limit changed."""
        earlier_limits = dict(self.instance_limits)
        homes = self._view.partition_numbers({name for names in self.base.candidates for name in names})
        rows = {name: row for name, number in homes.items() if (row := self._view.row(name, number)) is not None}
        if self._request.is_affinity:
            self._assignments = self._assign_to_one_host(rows)
        else:
            self._finder.reset()
            counts: Counter[int] = Counter()
            self._assignments = [
                self._assign_instance([(name, rows[name]) for name in names], counts) for names in self.base.candidates
            ]
        return self.instance_limits != earlier_limits

    def ranking(self) -> Ranking:
        """Return the ranking with allocations, or without candidates if any instance has none."""
        reasons = Counter(self.base.reasons)
        reasons.update(str(self._miss_reasons[row]) for row in self._dropped_rows())
        if not self.is_served:
            rest = self._hosts - reasons.total()
            if rest > 0:
                is_searched = not self._finder.is_exhausted
                reasons[REASON_REQUEST_TREES if is_searched else str(NoCandidateReason.UNDECIDED)] += rest
            return Ranking((), self._hosts, dict(reasons), samples=self._samples())
        candidates = [list(assignment) for assignment in self._assignments]
        allocations = [
            {name: allocation for name, allocation in assignment.items() if allocation is not None}
            for assignment in self._assignments
        ]
        near = sum(name in self._assignments[0] for name in self.base.candidates[0][: self.base.near])
        return replace(
            self.base,
            candidates=candidates,
            hosts=self._hosts,
            reasons=dict(reasons),
            near=max(1, near),
            nears=(),
            allocations=allocations if any(allocations) else (),
        )

    def _dropped_rows(self) -> list[int]:
        """Return the rows that take no instance, including undecided rows if the request is not served."""
        return [
            row
            for row, limit in self.instance_limits.items()
            if not limit or (not self.is_served and self._miss_reasons[row] is NoCandidateReason.UNDECIDED)
        ]

    def _samples(self) -> dict[str, list[str]]:
        samples: dict[str, list[str]] = {}
        for row in sorted(self._dropped_rows()):
            names = samples.setdefault(str(self._miss_reasons[row]), [])
            if len(names) < MAX_SAMPLES:
                names.append(self._view.name(row))
        return samples

    def _assign_instance(self, hosts: Sequence[tuple[str, int]], counts: Counter[int]) -> dict[str, Allocations | None]:
        """Return one instance's allocations on each host that fits. Reserve the first."""
        allocations: dict[str, Allocations | None] = {}
        for name, row in hosts:
            allocation = self._finder.find(row)
            if isinstance(allocation, NoCandidateReason):
                self._record_limit(row, counts[row], allocation)
            else:
                allocations[name] = allocation
        if allocations:
            first_row = next(row for name, row in hosts if name in allocations)
            self._finder.reserve(first_row)
            counts[first_row] += 1
        return allocations

    def _assign_to_one_host(self, rows: Mapping[str, int]) -> list[dict[str, Allocations | None]]:
        """Return each instance's allocations on the hosts that take all instances."""
        assignments: list[dict[str, Allocations | None]] = [{} for _ in self.base.candidates]
        for name in self.base.candidates[0]:
            self._finder.reset()
            host_allocations = []
            for number in range(len(assignments)):
                allocation = self._finder.find(rows[name])
                if isinstance(allocation, NoCandidateReason):
                    self._record_limit(rows[name], number, allocation)
                    break
                host_allocations.append(self._finder.reserve(rows[name]))
            if len(host_allocations) == len(assignments):
                for assignment, allocations in zip(assignments, host_allocations, strict=True):
                    assignment[name] = allocations
        return assignments

    def _record_limit(self, row: int, limit: int, reason: NoCandidateReason) -> None:
        earlier_limit = self.instance_limits.get(row, limit + 1)
        if limit < earlier_limit or (limit == earlier_limit and reason is NoCandidateReason.NONE):
            self.instance_limits[row] = limit
            self._miss_reasons[row] = reason
