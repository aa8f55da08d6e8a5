# SPDX-License-Identifier: Apache-2.0
"""Group mappings, searched for because a claim's amounts do not name the groups that they serve."""

from collections.abc import Iterator, Mapping, Sequence

from compute_agent.resources.kinds.kind import UndecidedMapping
from compute_agent.resources.nodes import Node
from compute_agent.resources.requirements import BuildRequirements
from rpcapi.resources.numa.cells import HostCell
from rpcapi.resources.numa.fit import NumaConditions
from rpcapi.resources.trees.matching import MATCHING_STEPS, match_allocations
from rpcapi.resources.trees.requirements import NO_TOPOLOGY
from rpcapi.resources.trees.search import StepBudget
from rpcapi.resources.trees.tree import Allocations, Provider, ProviderTree


def group_mappings(
    node: Node, requirements: BuildRequirements, allocations: Allocations, cells: Sequence[HostCell] = ()
) -> Iterator[Mapping[str, str]]:
    """Yield each mapping {suffix: path on the node} consistent with the allocations.

    Given ``cells`` with their usage, mappings are limited to those at which the cells can place the guest's topology.
    Raises UndecidedMapping when the step budget is used up.
    """
    prefix = node.name + "/"
    providers = [Provider(node.name, traits=frozenset(node.shape.traits), symmetry_key=node.name)]
    for provider in node.shape.child_providers:
        name, parent = prefix + provider.path, prefix + provider.parent if provider.parent else node.name
        # Unique keys: the search would prune equal providers, although their assignments differ.
        providers.append(Provider(name, parent, traits=frozenset(provider.traits), symmetry_key=name))
    tree = ProviderTree(providers)
    numa = NumaConditions(requirements.topology, {prefix + cell.path: cell for cell in cells}) if cells else NO_TOPOLOGY
    steps = StepBudget(MATCHING_STEPS)
    for candidate in match_allocations(tree, requirements.tree_request, allocations, steps, numa):
        yield {
            suffix: f"{names[0]}/".removeprefix(prefix).rstrip("/")
            for suffix, names in candidate.providers.items()
            if suffix and f"{names[0]}/".startswith(prefix)
        }
    if steps.exhausted:
        raise UndecidedMapping
