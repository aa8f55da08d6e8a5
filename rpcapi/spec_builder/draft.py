# SPDX-License-Identifier: Apache-2.0
"""A request spec under construction."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rpcapi import errors
from rpcapi.resources.groups import ISOLATE, NONE, RequestGroup

REQUIRED = "required"
FORBIDDEN = "forbidden"
KINDS = (REQUIRED, FORBIDDEN)


@dataclass(slots=True)
class _DraftGroup:
    resources: dict[str, int] = field(default_factory=dict)
    traits: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    in_tree: str | None = None
    member_of: tuple[tuple[str, ...], ...] = ()
    forbidden_aggregates: tuple[str, ...] = ()


@dataclass(slots=True)
class SpecDraft:
    """Request groups by suffix, "" for the unsuffixed group; each part of the translation adds its own.

    An amount of 0 means that no default amount is added for that class.
    """

    groups: dict[str, _DraftGroup] = field(default_factory=lambda: {"": _DraftGroup()})
    policy: str | None = None
    root: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    same_subtree: list[list[str]] = field(default_factory=list)
    numa: dict[str, Any] = field(default_factory=dict)

    @property
    def unsuffixed(self) -> dict[str, int]:
        """Return the amounts of the unsuffixed group."""
        return self.groups[""].resources

    def add_amount(self, resource_class: str, amount: int, suffix: str = "") -> None:
        """Add an amount of a resource class to a group."""
        resources = self.groups.setdefault(suffix, _DraftGroup()).resources
        resources[resource_class] = resources.get(resource_class, 0) + amount

    def add_trait(self, name: str, kind: str = REQUIRED, suffix: str = "") -> None:
        """Add a required or forbidden trait to a group."""
        self.groups.setdefault(suffix, _DraftGroup()).traits[kind].append(name)

    def add_group(self, group: RequestGroup) -> None:
        """Add a group with a new suffix; raises InvalidSpec when the suffix is in use."""
        if group.suffix in self.groups:
            raise errors.InvalidSpec(
                why=f"the suffix of group {group.suffix!r} is reserved; use another one in the flavor"
            )
        traits = {REQUIRED: list(group.required), FORBIDDEN: list(group.forbidden)}
        self.groups[group.suffix] = _DraftGroup(
            dict(group.resources), traits, group.in_tree, group.member_of, group.forbidden_aggregates
        )

    def total_resources(self) -> dict[str, int]:
        """Return the sum of amounts of all groups, including classes with amount 0."""
        totals = Counter[str]()
        for group in self.groups.values():
            totals.update(group.resources)
        return dict(totals)

    def spec_fields(self) -> dict[str, Any]:
        """Return the fields of the request spec.

        Without resources in the unsuffixed group its traits become requirements on the root.
        """
        plain = _group_as_dict(self.groups[""])
        traits = {kind: _unique(plain.get(kind, ())) for kind in KINDS}
        root = {kind: list(self.root[kind]) for kind in KINDS}
        if not plain.get("resources"):
            root = {kind: [*root[kind], *traits[kind]] for kind in KINDS}
            traits = {kind: [] for kind in KINDS}
        groups = {suffix: _group_as_dict(group) for suffix, group in self.groups.items() if suffix}
        groups = {suffix: group_fields for suffix, group_fields in groups.items() if group_fields}
        return {
            "resources": plain.get("resources", {}),
            "required_traits": traits[REQUIRED],
            "forbidden_traits": traits[FORBIDDEN],
            "root_required": _unique(root[REQUIRED]),
            "root_forbidden": _unique(root[FORBIDDEN]),
            "groups": groups,
            "groups_policy": self._policy(groups),
            "same_subtree": self.same_subtree,
            "numa": self.numa,
        }

    def _policy(self, groups: Mapping[str, Any]) -> str | None:
        """Return the requested policy; by default NUMA cells are isolated and other groups may share, as in Nova."""
        if self.policy is not None or len(groups) < 2:
            return self.policy
        cells = {cell["group"] for cell in self.numa.get("cells", ())}
        return ISOLATE if groups.keys() <= cells else NONE


def _group_as_dict(group: _DraftGroup) -> dict[str, Any]:
    resources = {resource_class: amount for resource_class, amount in group.resources.items() if amount}
    traits = {kind: _unique(names) for kind, names in group.traits.items()}
    providers = {
        "in_tree": group.in_tree,
        "member_of": [list(names) for names in group.member_of],
        "forbidden_aggregates": list(group.forbidden_aggregates),
    }
    return {key: value for key, value in {"resources": resources, **traits, **providers}.items() if value}


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
