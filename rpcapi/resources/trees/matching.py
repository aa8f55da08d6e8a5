# SPDX-License-Identifier: Apache-2.0
"""Assignment of request groups to the providers of an existing claim."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from rpcapi.resources.numa.fit import NumaConditions
from rpcapi.resources.trees.requirements import NO_TOPOLOGY
from rpcapi.resources.trees.search import MAX_STEPS, RETRY_FACTOR, StepBudget, search
from rpcapi.resources.trees.tree import (
    AllocationCandidate,
    Allocations,
    Provider,
    ProviderInventory,
    ProviderTree,
    TreeRequest,
)

# Limit of the search for an existing claim's groups: as many steps as the scheduler may have used for the claim.
MATCHING_STEPS = RETRY_FACTOR * MAX_STEPS


def match_allocations(
    tree: ProviderTree,
    request: TreeRequest,
    allocations: Allocations,
    steps: StepBudget,
    numa: NumaConditions = NO_TOPOLOGY,
) -> Iterator[AllocationCandidate]:
    """Yield the assignments of request groups to providers that result in exactly ``allocations``.

    The claim proves capacity and aggregates: only shape and traits matter, and other hosts' providers match any trait.
    """
    requested_amounts: Counter[str] = Counter()
    allocated_amounts: Counter[str] = Counter()
    for group in request.groups:
        requested_amounts.update(group.resources)
    for amounts in allocations.values():
        allocated_amounts.update(amounts)
    if requested_amounts != allocated_amounts:
        return
    provider_ids = {provider.id for provider in tree.providers}
    providers = [
        replace(provider, inventories=_inventories_of(allocations, provider.id), aggregates=frozenset())
        for provider in tree.providers
    ]
    foreign_providers = [
        Provider(name, None, _inventories_of(allocations, name), None)
        for name in allocations
        if name not in provider_ids
    ]
    request_groups = [replace(group, member_of=(), forbidden_aggregates=(), in_tree=None) for group in request.groups]
    claimed_request = replace(request, groups=request_groups, root_required=(), root_forbidden=())
    yield from search(ProviderTree(providers, foreign_providers), claimed_request, steps, numa)


def _inventories_of(allocations: Allocations, name: str) -> dict[str, ProviderInventory]:
    return {resource_class: ProviderInventory(amount) for resource_class, amount in allocations.get(name, {}).items()}
