# SPDX-License-Identifier: Apache-2.0
"""Necessary conditions for requirements to fit on providers: cheap tests that reject most trees."""

from collections.abc import Iterable, Mapping, Sequence

from rpcapi.resources.trees.requirements import GroupRequirement

FreeAmounts = Sequence[Mapping[str, int]]  # One mapping per provider.


def count_servable(requirement: GroupRequirement, free: Mapping[str, int], most: int) -> int:
    """Return how many equal groups the free amounts of one eligible provider can serve, up to ``most``."""
    for name, amount in requirement.amounts:
        most = min(most, free[name] // amount)
    return most


def sums_suffice(demands: Iterable[tuple[GroupRequirement, int, int]], free: FreeAmounts) -> bool:
    """Return whether the free amounts suffice for the sums of kinds that share providers.

    ``demands`` per kind: (requirement, number of groups, provider mask). Kinds with nested provider sets compete.
    """
    demands_by_class: dict[str, list[tuple[int, int]]] = {}
    for requirement, count, mask in demands:
        for name, amount in requirement.amounts:
            demands_by_class.setdefault(name, []).append((mask, count * amount))
    for name, pairs in demands_by_class.items():
        masks = {mask for mask, _ in pairs}
        union = 0
        for mask in masks:
            union |= mask
        for usable in {*masks, union} if len(pairs) > 1 else masks:
            demand = sum(amount for mask, amount in pairs if not mask & ~usable)
            if demand > sum(amounts[name] for number, amounts in enumerate(free) if usable >> number & 1):
                return False
    return True


def distinct_providers_exist(requirements: Sequence[GroupRequirement]) -> bool:
    """Return whether each requirement can have its own provider: bipartite matching by augmenting paths."""
    holder: dict[int, int] = {}

    def give(number: int, visited: set[int]) -> bool:
        options = requirements[number].options
        for option in options:
            if option not in holder:
                holder[option] = number
                return True
        for option in options:
            if option not in visited:
                visited.add(option)
                if give(holder[option], visited):
                    holder[option] = number
                    return True
        return False

    return all(give(number, set()) for number in range(len(requirements)))
