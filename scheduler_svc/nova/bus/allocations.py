# SPDX-License-Identifier: Apache-2.0
"""Allocations of an instance on a host, with the providers of each request group."""

from rpcapi.resources.trees.matching import MATCHING_STEPS, match_allocations
from rpcapi.resources.trees.search import NoCandidateReason, StepBudget, find_first
from rpcapi.resources.trees.tree import AllocationCandidate, Allocations
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View
from scheduler_svc.core.tree_request import tree_request
from scheduler_svc.core.trees.reader import TreeReader
from scheduler_svc.nova.bus.hosts import NovaHost


class AllocationReader:
    """Reader of a request's allocations on hosts of a view."""

    def __init__(self, view: View, request: SchedulingRequest) -> None:
        self._request = request
        self._trees = tree_request(request)
        self._reader = TreeReader(view, view.trees, self._trees)

    def claimed(self, host: NovaHost, allocations: Allocations | None) -> AllocationCandidate:
        """Match the part of a claim at ``host`` to request groups. ``allocations`` None: all from the root."""
        if allocations is None or (not self._request.groups and self._reader.is_bare(host.row)):
            return self._at_root(host)
        tree = self._reader.tree(host.row)
        near = {provider.id for provider in (*tree.providers, *tree.sharing)}
        own = {provider: amounts for provider, amounts in allocations.items() if provider in near}
        candidates = match_allocations(tree, self._trees, own, StepBudget(MATCHING_STEPS))
        # Without a match, the tree has changed since the claim, or the search has ended with its steps. The claim
        # remains the instance's.
        return next(candidates, AllocationCandidate(own, {"": tuple(own)}))

    def possible(self, host: NovaHost) -> AllocationCandidate | None:
        """Return the allocation of one more instance on a host, or None if it does not fit."""
        if not self._request.groups and self._reader.is_bare(host.row):
            return self._at_root(host)
        candidate = find_first(self._reader.tree(host.row), self._trees, StepBudget())
        return None if isinstance(candidate, NoCandidateReason) else candidate

    def _at_root(self, host: NovaHost) -> AllocationCandidate:
        return AllocationCandidate({host.name: self._request.resources}, {"": (host.name,)})
