# SPDX-License-Identifier: Apache-2.0
"""Requirements of a request, each to be served by one provider, and the providers eligible for each."""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.trees.tree import Provider, ProviderTree, TreeRequest, has_traits, in_aggregates


@dataclass(frozen=True, slots=True)
class GroupRequirement:
    """Amounts to allocate from one provider: a suffixed group, or one resource class of the unsuffixed group.

    ``options``: Eligible providers, as indices into the tree's providers followed by its sharing providers.
    ``subtree_rules``: Indices of the same_subtree rules with this group.
    """

    suffix: str
    amounts: tuple[tuple[str, int], ...]
    options: tuple[int, ...]
    subtree_rules: frozenset[int] = frozenset()

    @property
    def interchange_key(self) -> tuple[object, ...]:
        """Key that is equal for interchangeable requirements of suffixed groups."""
        return (self.amounts, self.options, self.subtree_rules, bool(self.suffix))

    @property
    def mask(self) -> int:
        return sum(1 << provider_number for provider_number in self.options)


def list_group_requirements(tree: ProviderTree, request: TreeRequest) -> list[GroupRequirement]:
    """Return all requirements: fewest options first, interchangeable ones adjacent."""
    requirements = list(_generate_requirements(tree, request))
    fewest = {requirement.interchange_key: len(requirement.options) for requirement in requirements}
    order = {interchange_key: number for number, interchange_key in enumerate(sorted(fewest, key=fewest.__getitem__))}
    return sorted(requirements, key=lambda requirement: order[requirement.interchange_key])


def root_satisfies(tree: ProviderTree, request: TreeRequest) -> bool:
    root = tree.root
    if not has_traits(root.traits, request.root_required, (), request.root_forbidden):
        return False
    # An unsuffixed group without amounts uses no provider: its traits and aggregates apply to the root.
    return all(
        has_traits(root.traits, group.required, group.any_of, group.forbidden)
        and _aggregates_match(tree, root, group)
        and _tree_has_provider(tree, group.in_tree)
        for group in request.groups
        if not group.suffix and not group.resources
    )


def provider_satisfies(provider: Provider, group: RequestGroup) -> bool:
    """Return whether one provider alone satisfies a group, regardless of its tree."""
    return (
        _can_allocate_all(provider, group.resources.items())
        and has_traits(provider.traits, group.required, group.any_of, group.forbidden)
        and in_aggregates(provider.aggregates, group.member_of)
        and provider.aggregates.isdisjoint(group.forbidden_aggregates)
    )


def _generate_requirements(tree: ProviderTree, request: TreeRequest) -> Iterator[GroupRequirement]:
    options_by_key: dict[Hashable, tuple[int, ...]] = {}  # equal groups share their options
    for group in request.groups:
        if group.suffix:
            key = _group_key(group)
            if key not in options_by_key:
                options_by_key[key] = tuple(_providers_for_suffixed_group(tree, group))
            options = options_by_key[key]
            rules = (number for number, suffixes in enumerate(request.same_subtree) if group.suffix in suffixes)
            yield GroupRequirement(group.suffix, tuple(sorted(group.resources.items())), options, frozenset(rules))
        else:
            usable = list(_providers_for_unsuffixed_group(tree, group))
            for resource_class, amount in group.resources.items():
                provider_numbers = tuple(
                    number for number, provider in usable if _can_allocate_all(provider, ((resource_class, amount),))
                )
                yield GroupRequirement("", ((resource_class, amount),), provider_numbers)


def _group_key(group: RequestGroup) -> Hashable:
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
    """Yield providers allowed for the unsuffixed group; required traits apply to all used ones together."""
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
    """Return whether aggregates satisfy a group; the root's cover its tree, forbidden ones sharing providers too."""
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
