# SPDX-License-Identifier: Apache-2.0
"""Which provider of a node serves which group of a request: a claim tells amounts, not what each was meant for."""

from collections.abc import Iterator, Mapping

from compute_agent.nodes import Node
from rpcapi.model.tree_search import Steps, retraced
from rpcapi.model.trees import Allocations, Provider, Tree, Wanted


def ways(node: Node, wanted: Wanted, allocations: Allocations) -> Iterator[Mapping[str, str]]:
    """Yield {suffix: path below the node} for each way to read the allocations, until there is none or enough.

    What another host serves is left out.
    """
    below = node.name + "/"
    providers = [Provider(node.name, traits=frozenset(node.shape.traits), mark=node.name)]
    for each in node.shape.below:
        name, parent = below + each.path, below + each.parent if each.parent else node.name
        # Marked by name: alike ones are told apart, since what the kinds hold of them differs.
        providers.append(Provider(name, parent, traits=frozenset(each.traits), mark=name))
    for found in retraced(Tree(providers), wanted, allocations, Steps()):
        yield {
            suffix: f"{names[0]}/".removeprefix(below).rstrip("/")
            for suffix, names in found.providers.items()
            if suffix and f"{names[0]}/".startswith(below)
        }
