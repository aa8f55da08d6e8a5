# SPDX-License-Identifier: Apache-2.0
"""Which provider of a node serves which group of a request: a claim tells amounts, not what each was meant for."""

from collections.abc import Iterator, Mapping

from compute_agent.nodes import Node
from rpcapi.model.tree_search import StepBudget, match_allocations
from rpcapi.model.trees import Allocations, Provider, ProviderTree, TreeRequest


def group_mappings(node: Node, tree_request: TreeRequest, allocations: Allocations) -> Iterator[Mapping[str, str]]:
    """Yield {suffix: path below the node} for each way to read the allocations, until there is none or enough.

    What another host serves is left out.
    """
    prefix = node.name + "/"
    providers = [Provider(node.name, traits=frozenset(node.shape.traits), symmetry_key=node.name)]
    for provider in node.shape.child_providers:
        name, parent = prefix + provider.path, prefix + provider.parent if provider.parent else node.name
        # Marked by name: alike ones are told apart, since what the kinds hold of them differs.
        providers.append(Provider(name, parent, traits=frozenset(provider.traits), symmetry_key=name))
    for candidate in match_allocations(ProviderTree(providers), tree_request, allocations, StepBudget()):
        yield {
            suffix: f"{names[0]}/".removeprefix(prefix).rstrip("/")
            for suffix, names in candidate.providers.items()
            if suffix and f"{names[0]}/".startswith(prefix)
        }
