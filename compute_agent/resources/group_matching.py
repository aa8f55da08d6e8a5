# SPDX-License-Identifier: Apache-2.0
"""Group mappings: providers of a node that serve the request groups of a claim.

A claim has amounts by provider, but does not say which group each amount serves.
"""

from collections.abc import Iterator, Mapping

from compute_agent.resources.nodes import Node
from rpcapi.resources.trees.matching import match_allocations
from rpcapi.resources.trees.search import StepBudget
from rpcapi.resources.trees.tree import Allocations, Provider, ProviderTree, TreeRequest


def group_mappings(node: Node, tree_request: TreeRequest, allocations: Allocations) -> Iterator[Mapping[str, str]]:
    """Yield each mapping {suffix: path on the node} consistent with the allocations, within a step budget."""
    prefix = node.name + "/"
    providers = [Provider(node.name, traits=frozenset(node.shape.traits), symmetry_key=node.name)]
    for provider in node.shape.child_providers:
        name, parent = prefix + provider.path, prefix + provider.parent if provider.parent else node.name
        # A unique key keeps equal providers from being pruned: their assignments differ.
        providers.append(Provider(name, parent, traits=frozenset(provider.traits), symmetry_key=name))
    for candidate in match_allocations(ProviderTree(providers), tree_request, allocations, StepBudget()):
        yield {
            suffix: f"{names[0]}/".removeprefix(prefix).rstrip("/")
            for suffix, names in candidate.providers.items()
            if suffix and f"{names[0]}/".startswith(prefix)
        }
