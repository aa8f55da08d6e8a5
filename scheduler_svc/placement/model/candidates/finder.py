# SPDX-License-Identifier: Apache-2.0
"""Search for a query's allocation candidates in the host table."""

import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

from rpcapi.resources.trees.search import search
from rpcapi.resources.trees.tree import AllocationCandidate, ProviderTree
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.core.trees.reader import TreeReader
from scheduler_svc.placement.model.candidates.anchors import Anchors, find_anchors
from scheduler_svc.placement.model.candidates.contents import read_trees
from scheduler_svc.placement.model.candidates.deadline import Deadline, TimedSteps
from scheduler_svc.placement.model.candidates.request import CandidateList, CandidateRequest
from scheduler_svc.placement.model.freshness import Freshness

MAX_SUSPENDED = 2000  # suspended searches of one query
READ_TREES = 32  # trees per read, so that updates of the table do not wait long


class SearchLimits(NamedTuple):
    max_candidates: int = 100_000
    timeout_s: float = 10.0


DEFAULT_LIMITS = SearchLimits()


class CandidateFinder:
    """Finder of candidates in this process's copy of the provider trees."""

    def __init__(
        self,
        table: HostTable,
        freshness: Freshness,
        limits: SearchLimits = DEFAULT_LIMITS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._table = table
        self._freshness = freshness
        self._limits = limits
        self._clock = clock

    def deadline(self) -> Deadline:
        return Deadline(self._limits.timeout_s, self._clock)

    def find(self, request: CandidateRequest, deadline: Deadline) -> CandidateList:
        """Return the candidates, and the providers of their trees.

        A search with a limit that takes too long returns the candidates found so far. Raises Problem 503 if there are
        none, without a limit, or if the deadline passes before the providers are read.
        """
        self._freshness.require()
        max_candidates = self._limits.max_candidates
        steps = deadline.search_steps()
        with self._table.reading() as view:
            anchors = find_anchors(view, request)
        limit = min(request.limit or max_candidates, max_candidates)
        query = _Query(self._table, request, limit, steps, any_shares=anchors.any_shares)
        query.run(anchors)
        if steps.exhausted and (request.limit is None or not query.count):
            raise deadline.problem()
        return self._with_providers(query, request, deadline)

    def _with_providers(self, query: "_Query", request: CandidateRequest, deadline: Deadline) -> CandidateList:
        bare_roots, providers = read_trees(self._table, query.bare_roots, deadline)
        used = {name for candidate in query.candidates for name in candidate.allocations}
        for contents in read_trees(self._table, list(set(map(query.root_of, used))), deadline):
            providers += contents
        if not request.nested:
            providers = [part.among(used) for part in providers]
        existing = {name for part in providers for name in part.ids}
        # A provider may have been deleted during the search.
        candidates = [candidate for candidate in query.candidates if candidate.allocations.keys() <= existing]
        return CandidateList(bare_roots, candidates, providers)


class _Query:
    """Search for one request, with the candidates found so far."""

    def __init__(
        self, table: HostTable, request: CandidateRequest, limit: int, steps: TimedSteps, *, any_shares: bool
    ) -> None:
        self.bare_roots: list[str] = []
        self.candidates: list[AllocationCandidate] = []
        self._table = table
        self._request = request
        self._limit = limit
        self._steps = steps
        self._roots: dict[str, str] = {}  # {provider of a searched tree: its root}
        self._keys: set[Hashable] = set()
        self._any_shares = any_shares

    @property
    def count(self) -> int:
        return len(self.bare_roots) + len(self.candidates)

    def root_of(self, provider: str) -> str:
        return self._roots.get(provider, provider)

    def run(self, anchors: Anchors) -> None:
        """Collect candidates breadth-first: the first candidate of each root before the second of any."""
        if all(anchors.bare) and self._steps.check():
            self.bare_roots = anchors.ids[: self._limit]
            return
        suspended: deque[Iterator[AllocationCandidate]] = deque()
        for searching in self._searches(anchors):
            if self._collect(searching, 1):
                suspended.append(searching)
            if len(suspended) > MAX_SUSPENDED:
                self._collect(suspended.popleft(), self._limit)
            if self._is_complete:
                return
        while suspended and not self._is_complete:
            searching = suspended.popleft()
            if self._collect(searching, 1):
                suspended.append(searching)

    @property
    def _is_complete(self) -> bool:
        return self.count >= self._limit or self._steps.exhausted

    def _collect(self, searching: Iterator[AllocationCandidate], count: int) -> bool:
        """Collect up to ``count`` candidates of a search; return whether it may have more."""
        for candidate in searching:
            if self._is_new(candidate):
                self.candidates.append(candidate)
                count -= 1
            if not count or self._is_complete:
                return True
        return False

    def _is_new(self, candidate: AllocationCandidate) -> bool:
        """Return whether a candidate repeats no other root's candidate and is allowed in the microversion."""
        if not self._request.nested:
            roots = {self.root_of(name) for name in candidate.allocations}
            if len(roots) < len(candidate.allocations):
                return False
        if not self._any_shares:
            return True
        amounts = frozenset((name, *item) for name, items in candidate.allocations.items() for item in items.items())
        key = amounts, frozenset((suffix, frozenset(names)) for suffix, names in candidate.providers.items())
        if key in self._keys:
            return False
        self._keys.add(key)
        return True

    def _searches(self, anchors: Anchors) -> Iterator[Iterator[AllocationCandidate]]:
        """Yield the search of each anchor's tree, but collect bare roots at once."""
        for start in range(0, len(anchors.ids), READ_TREES):
            if not self._steps.check():
                return
            batch = slice(start, start + READ_TREES)
            pairs = list(zip(anchors.ids[batch], anchors.bare[batch], strict=True))
            trees = self._read_trees([name for name, is_bare in pairs if not is_bare])
            for name, is_bare in pairs:
                if is_bare:
                    self.bare_roots.append(name)
                    if self.count >= self._limit:
                        return
                elif name in trees:
                    yield search(trees[name], self._request.trees, self._steps, prune=False)

    def _read_trees(self, names: Sequence[str]) -> dict[str, ProviderTree]:
        if not names:
            return {}
        trees = {}
        with self._table.reading() as view:
            reader = TreeReader(view, view.all_trees, self._request.trees)
            present = view.present
            for name in names:
                row = view.row(name)
                if row is not None and present[row]:
                    trees[name] = reader.tree(row)
        for name, tree in trees.items():
            self._roots.update((provider.id, name) for provider in tree.providers[1:])
            self._roots.update((provider.id, provider.root) for provider in tree.sharing if provider.root)
        return trees
