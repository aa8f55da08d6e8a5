# SPDX-License-Identifier: Apache-2.0
"""Requirements of a request, each served by one provider, with their eligible providers."""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.numa.fit import NumaConditions
from rpcapi.resources.numa.topology import DevicePolicy, GuestCell, GuestTopology
from rpcapi.resources.trees.tree import Provider, ProviderTree, TreeRequest, has_traits, in_aggregates

NO_TOPOLOGY = NumaConditions(GuestTopology(), {})


@dataclass(frozen=True, slots=True)
class GroupRequirement:
    """Amounts to allocate from one provider: a suffixed group, or one resource class of the unsuffixed group.

    ``kind`` is equal for interchangeable requirements. ``options`` and bit mask ``mask`` are the eligible providers;
    sharing providers are numbered after the tree's. ``subtree_rules``: indices of same_subtree rules with this group.
    """

    suffix: str
    kind: int
    amounts: tuple[tuple[str, int], ...]
    options: tuple[int, ...]
    mask: int
    subtree_rules: frozenset[int] = frozenset()
    guest_cell: GuestCell | None = None
    device_policy: DevicePolicy | None = None

    @property
    def is_near_guest(self) -> bool:
        """Whether the guest's cells decide which providers can serve the group."""
        return self.device_policy not in (None, DevicePolicy.PREFERRED)


def list_group_requirements(
    tree: ProviderTree, request: TreeRequest, numa: NumaConditions = NO_TOPOLOGY
) -> list[GroupRequirement]:
    """Return all requirements in search order, interchangeable ones adjacent.

    Guest cells come first, then groups that may use host cells, devices near them, and the rest, fewest options first.
    """
    cells = _mask(number for number, provider in enumerate(tree.providers) if provider.id in numa.cells)

    def order(requirement: GroupRequirement) -> tuple[bool, bool, bool, int, int]:
        uses_cells = bool(requirement.mask & cells)
        rank = (not requirement.guest_cell, not uses_cells, not requirement.is_near_guest)
        return *rank, len(requirement.options), requirement.kind

    return sorted(_generate_requirements(tree, request, numa), key=order)


def root_satisfies(tree: ProviderTree, request: TreeRequest) -> bool:
    root = tree.root
    if not has_traits(root.traits, request.root_required, (), request.root_forbidden):
        return False
    # An unsuffixed group without amounts uses no provider, so its traits and aggregates apply to the root.
    return all(
        has_traits(root.traits, group.required, group.any_of, group.forbidden)
        and _aggregates_match(tree, root, group)
        and _tree_has_provider(tree, group.in_tree)
        for group in request.groups
        if not group.suffix and not group.resources
    )


def provider_satisfies(provider: Provider, group: RequestGroup) -> bool:
    return (
        _can_allocate_all(provider, group.resources.items())
        and has_traits(provider.traits, group.required, group.any_of, group.forbidden)
        and in_aggregates(provider.aggregates, group.member_of)
        and provider.aggregates.isdisjoint(group.forbidden_aggregates)
    )


def _generate_requirements(
    tree: ProviderTree, request: TreeRequest, numa: NumaConditions
) -> Iterator[GroupRequirement]:
    first_of_key: dict[Hashable, GroupRequirement] = {}  # equal groups share kind and options
    kinds: dict[Hashable, int] = {}
    guest_cells = {cell.group: cell for cell in numa.guest.cells}
    for group in request.groups:
        if group.suffix:
            guest_cell = guest_cells.get(group.suffix)
            device_policy = numa.guest.devices.get(group.suffix)
            role = (len(guest_cell.cpus), len(guest_cell.pcpus)) if guest_cell else device_policy
            rules = frozenset(
                [number for number, suffixes in enumerate(request.same_subtree) if group.suffix in suffixes]
            )
            key = (*_group_key(group), rules, role)
            first = first_of_key.get(key)
            if first is None:
                amounts = tuple(sorted(group.resources.items()))
                options = tuple(_providers_for_suffixed_group(tree, group))
                if guest_cell:
                    options = tuple(_cells_for_guest_cell(tree, group, numa, guest_cell, options))
                kind = kinds.setdefault((amounts, options, rules, role), len(kinds))
                first = GroupRequirement(
                    group.suffix, kind, amounts, options, _mask(options), rules, guest_cell, device_policy
                )
                first_of_key[key] = first
                yield first
            else:
                shared = (first.kind, first.amounts, first.options, first.mask, rules)
                yield GroupRequirement(group.suffix, *shared, guest_cell, device_policy)
        else:
            usable = list(_providers_for_unsuffixed_group(tree, group))
            for resource_class, amount in group.resources.items():
                amounts = ((resource_class, amount),)
                options = tuple(number for number, provider in usable if _can_allocate_all(provider, amounts))
                kind = kinds.setdefault(resource_class, len(kinds))
                yield GroupRequirement("", kind, amounts, options, _mask(options))


def _mask(options: Iterable[int]) -> int:
    return sum(1 << option for option in options)


def _cells_for_guest_cell(
    tree: ProviderTree, group: RequestGroup, numa: NumaConditions, guest_cell: GuestCell, options: Iterable[int]
) -> Iterator[int]:
    for number in options:
        if number < len(tree.providers):
            cell = numa.cells.get(tree.providers[number].id)
            if cell is not None and numa.fits(cell, guest_cell, group.resources):
                yield number


def _group_key(group: RequestGroup) -> tuple[Hashable, ...]:
    amounts = frozenset(group.resources.items())
    traits = (group.required, group.any_of, group.forbidden)
    return amounts, traits, group.member_of, group.forbidden_aggregates, group.in_tree


def _providers_for_suffixed_group(tree: ProviderTree, group: RequestGroup) -> Iterator[int]:
    inside = _tree_has_provider(tree, group.in_tree)
    for number, provider in _number_providers(tree):
        in_required_tree = (
            inside if number < len(tree.providers) else group.in_tree in (None, provider.id, provider.root)
        )
        if in_required_tree and provider_satisfies(provider, group):
            yield number


def _providers_for_unsuffixed_group(tree: ProviderTree, group: RequestGroup) -> Iterator[tuple[int, Provider]]:
    """Yield providers allowed for the unsuffixed group; its required traits apply to all used ones together."""
    if not _tree_has_provider(tree, group.in_tree):
        return
    for number, provider in _number_providers(tree):
        is_sharing = number >= len(tree.providers)
        if is_sharing and group.in_tree is not None:
            return
        if has_traits(provider.traits, (), (), group.forbidden) and _aggregates_match(
            tree, provider, group, is_sharing=is_sharing
        ):
            yield number, provider


def _aggregates_match(tree: ProviderTree, provider: Provider, group: RequestGroup, *, is_sharing: bool = False) -> bool:
    """Return whether a provider's aggregates satisfy a group.

    The root's aggregates apply to its whole tree. Forbidden ones also exclude the tree's sharing providers.
    """
    root = tree.root.aggregates
    in_required_tree = in_aggregates(provider.aggregates, group.member_of) or (
        not is_sharing and in_aggregates(root, group.member_of)
    )
    return in_required_tree and (provider.aggregates | root).isdisjoint(group.forbidden_aggregates)


def _number_providers(tree: ProviderTree) -> Iterator[tuple[int, Provider]]:
    return enumerate((*tree.providers, *tree.sharing))


def _tree_has_provider(tree: ProviderTree, name: str | None) -> bool:
    return name is None or any(provider.id == name for provider in tree.providers)


def _can_allocate_all(provider: Provider, amounts: Iterable[tuple[str, int]]) -> bool:
    inventories = provider.inventories
    return all(name in inventories and inventories[name].can_allocate(amount) for name, amount in amounts)
