# SPDX-License-Identifier: Apache-2.0
"""Search of a host's provider tree, on demand, for the allocations of one more instance."""

from collections import Counter, defaultdict

from rpcapi.resources.trees.requirements import NO_TOPOLOGY, provider_satisfies
from rpcapi.resources.trees.search import MAX_STEPS, NoCandidateReason, StepBudget, find_first
from rpcapi.resources.trees.tree import Allocations
from scheduler_svc.core.built_in import BuiltInFailed
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View
from scheduler_svc.core.tree_request import tree_request
from scheduler_svc.core.trees.numa import read_conditions
from scheduler_svc.core.trees.reader import TreeReader

# Search steps of a decision per hundred instances. The first steps of each search come from a reserve of their own.
COMMON_STEPS = 5 * MAX_STEPS
RESERVED_STEPS = 10 * MAX_STEPS
FIRST_STEPS = 250  # reserved steps of each search; nearly all searches need fewer
TREE_READ_STEPS = 6  # cost of reading one tree, in search steps

# Allocations of one instance on a host. None: all resources from the root provider.
HostAllocation = Allocations | None


class AllocationFinder:
    """Finder of allocations on single hosts that respects the reservations for other instances of the call."""

    def __init__(self, view: View, request: SchedulingRequest, count: int = 1, factor: int = 1) -> None:
        """``count`` is the number of instances to budget for. ``factor`` multiplies all but the reserved steps."""
        self._view = view
        self._request = request
        self._tree_request = tree_request(request)
        self._reader = TreeReader(view, view.trees, self._tree_request, all_classes=bool(request.numa))
        hundreds = max(1, -(-count // 100))
        self._factor = factor
        self.unsearched_rows: set[int] = set()  # undecided because no steps were left, not by a search
        self._any_undecided = False
        self._common_steps = COMMON_STEPS * factor * hundreds
        self._reserved_steps = RESERVED_STEPS * hundreds
        self._initial_allocations: dict[int, HostAllocation | NoCandidateReason] = {}  # without reservations
        self._allocations = self._initial_allocations
        self._ledger: defaultdict[str, Counter[str]] = defaultdict(Counter)

    @property
    def is_needed(self) -> bool:
        """Whether trees must be searched: for request groups, or if any host has a tree."""
        return bool(self._request.groups) or not self._view.trees.are_flat

    @property
    def is_exhausted(self) -> bool:
        """Whether the steps are used up, so that the remaining hosts stay undecided."""
        return self._reserved_steps <= 0

    @property
    def is_undecided(self) -> bool:
        """Whether some host without an allocation may fit."""
        return self._any_undecided or self.is_exhausted

    def find(self, row: int) -> HostAllocation | NoCandidateReason:
        """Return the allocations of one more instance, or why it does not fit. Raises BuiltInFailed."""
        if row not in self._allocations:
            try:
                self._allocations[row] = self._search_host(row)
            except Exception as error:
                raise BuiltInFailed(
                    "search", "provider trees", lambda view: AllocationFinder(view, self._request)._search_host(row)
                ) from error
        self._any_undecided |= self._allocations[row] is NoCandidateReason.UNDECIDED
        return self._allocations[row]

    def reserve(self, row: int) -> Allocations | None:
        """Reserve and return one instance's allocations on a host. Later searches count them as used."""
        allocation = self.find(row)
        if isinstance(allocation, NoCandidateReason):
            raise ValueError(f"{self._view.name(row)} has no allocation for this request")
        amounts = self._amounts(row, allocation)
        for name, provider_amounts in amounts.items():
            self._ledger[name].update(provider_amounts)
        self._allocations = {
            other_row: other
            for other_row, other in self._allocations.items()
            if other_row != row
            and (isinstance(other, NoCandidateReason) or amounts.keys().isdisjoint(self._amounts(other_row, other)))
        }
        return allocation

    def assume_released(self, allocations: Allocations) -> None:
        """Count these allocations as free. Call before the first ``find``, which caches its results."""
        for name, amounts in allocations.items():
            self._ledger[name].subtract(amounts)

    def reset(self) -> None:
        self._ledger = defaultdict(Counter)
        self._allocations = self._initial_allocations

    def _amounts(self, row: int, allocation: HostAllocation) -> Allocations:
        return {self._view.name(row): self._request.resources} if allocation is None else allocation

    def _search_host(self, row: int) -> HostAllocation | NoCandidateReason:
        if not self._request.groups:
            if self._reader.is_bare(row):
                return None  # column tests have counted how many instances fit
            # Shortcut: on most nested hosts, the root alone serves a request without groups.
            if provider_satisfies(self._reader.root(row, self._ledger), self._tree_request.groups[0]):
                return None
        if self.is_exhausted:
            self.unsearched_rows.add(row)
            return NoCandidateReason.UNDECIDED
        tree = self._reader.tree(row, self._ledger)
        numa = self._request.numa
        conditions = read_conditions(numa, self._view.numa_cells(row), tree) if numa else NO_TOPOLOGY
        limit = min(MAX_STEPS * self._factor, FIRST_STEPS + self._common_steps)
        steps = StepBudget(limit)
        candidate = find_first(tree, self._tree_request, steps, conditions)
        used = limit - steps.remaining
        self._reserved_steps -= TREE_READ_STEPS + min(used, FIRST_STEPS)
        self._common_steps = max(0, self._common_steps - max(0, used - FIRST_STEPS))
        return candidate if isinstance(candidate, NoCandidateReason) else candidate.allocations
