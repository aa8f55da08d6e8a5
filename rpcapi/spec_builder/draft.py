# SPDX-License-Identifier: Apache-2.0
"""Request spec under construction."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rpcapi import errors
from rpcapi.resources.groups import ISOLATE, NONE, RequestGroup

# Kinds of traits, named like the fields of RequestGroup.
REQUIRED, FORBIDDEN = KINDS = ("required", "forbidden")


@dataclass(slots=True)
class SpecDraft:
    """Request groups by suffix, extended by each part of the translation.

    An amount of 0 suppresses the flavor's default for the class.
    """

    groups: dict[str, RequestGroup] = field(default_factory=lambda: {"": RequestGroup()})
    policy: str | None = None
    root: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    same_subtree: list[list[str]] = field(default_factory=list)
    numa: dict[str, Any] = field(default_factory=dict)

    @property
    def unsuffixed(self) -> Mapping[str, int]:
        return self.groups[""].resources

    def add_amount(self, resource_class: str, amount: int, suffix: str = "") -> None:
        group = self.groups.get(suffix, RequestGroup(suffix))
        resources = {**group.resources, resource_class: group.resources.get(resource_class, 0) + amount}
        self.groups[suffix] = replace(group, resources=resources)

    def clear_amounts(self, *resource_classes: str) -> None:
        """Suppress resource classes in the unsuffixed group."""
        resources = {**self.unsuffixed, **dict.fromkeys(resource_classes, 0)}
        self.groups[""] = replace(self.groups[""], resources=resources)

    def add_trait(self, name: str, kind: str = REQUIRED, suffix: str = "") -> None:
        group = self.groups.get(suffix, RequestGroup(suffix))
        traits: dict[str, Any] = {kind: (*getattr(group, kind), name)}
        self.groups[suffix] = replace(group, **traits)

    def add_group(self, group: RequestGroup) -> None:
        """Add a group; raises InvalidSpec if its suffix is in use."""
        if group.suffix in self.groups:
            raise errors.InvalidSpec(
                why=f"the suffix of group {group.suffix!r} is reserved; use another suffix in the flavor"
            )
        self.groups[group.suffix] = group

    def total_resources(self) -> dict[str, int]:
        """Return the amounts of all groups together, including classes with amount 0."""
        totals = Counter[str]()
        for group in self.groups.values():
            totals.update(group.resources)
        return dict(totals)

    def requested_group(self, suffix: str = "") -> RequestGroup:
        """Return a group without amounts of 0 and duplicate traits."""
        group = self.groups[suffix]
        resources = {resource_class: amount for resource_class, amount in group.resources.items() if amount}
        required, forbidden = tuple(_unique(group.required)), tuple(_unique(group.forbidden))
        return replace(group, resources=resources, required=required, forbidden=forbidden)

    def spec_fields(self) -> dict[str, Any]:
        """Return the fields of the request spec.

        If the unsuffixed group has no resources, its traits become requirements on the root.
        """
        plain = self.requested_group()
        own, root = (plain, RequestGroup()) if plain.resources else (RequestGroup(), plain)
        groups = {suffix: self.requested_group(suffix).as_dict() for suffix in self.groups if suffix}
        groups = {suffix: group_fields for suffix, group_fields in groups.items() if group_fields}
        return {
            "resources": plain.resources,
            "required_traits": list(own.required),
            "forbidden_traits": list(own.forbidden),
            "root_required": _unique([*self.root[REQUIRED], *root.required]),
            "root_forbidden": _unique([*self.root[FORBIDDEN], *root.forbidden]),
            "groups": groups,
            "groups_policy": self._policy(groups),
            "same_subtree": self.same_subtree,
            "numa": self.numa,
        }

    def _policy(self, groups: Mapping[str, Any]) -> str | None:
        """Return the groups policy. By default NUMA cells are isolated and other groups may share, as in Nova."""
        if self.policy is not None or len(groups) < 2:
            return self.policy
        cells = {cell["group"] for cell in self.numa.get("cells", ())}
        return ISOLATE if groups.keys() <= cells else NONE


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
