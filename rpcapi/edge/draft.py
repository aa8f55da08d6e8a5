# SPDX-License-Identifier: Apache-2.0
"""A request spec while it is put together."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rpcapi import errors
from rpcapi.model.groups import ISOLATE, NONE, RequestGroup
from rpcapi.objects.request_spec import RequestSpec

REQUIRED = "required"
FORBIDDEN = "forbidden"
KINDS = (REQUIRED, FORBIDDEN)


@dataclass(slots=True)
class _Group:
    resources: dict[str, int] = field(default_factory=dict)
    traits: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    in_tree: str | None = None


@dataclass(slots=True)
class Draft:
    """Request groups by suffix ("" is the one without), to which each part of the translation adds its own.

    Amounts of 0 may stand in it: they say that a class is not to be asked for by default.
    """

    groups: dict[str, _Group] = field(default_factory=lambda: {"": _Group()})
    policy: str | None = None
    root: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    same_subtree: list[list[str]] = field(default_factory=list)
    numa: dict[str, Any] = field(default_factory=dict)

    @property
    def plain(self) -> dict[str, int]:
        """The amounts of the group without a suffix."""
        return self.groups[""].resources

    def amount(self, resource_class: str, amount: int, suffix: str = "") -> None:
        """Ask for so much more of a class."""
        resources = self.groups.setdefault(suffix, _Group()).resources
        resources[resource_class] = resources.get(resource_class, 0) + amount

    def trait(self, name: str, kind: str = REQUIRED, suffix: str = "") -> None:
        """Require, or forbid, a trait of who serves a group."""
        self.groups.setdefault(suffix, _Group()).traits[kind].append(name)

    def add(self, group: RequestGroup) -> None:
        """Add a group of a suffix that nobody has; raises InvalidSpec where somebody has it."""
        if group.suffix in self.groups:
            raise errors.InvalidSpec(why=f"a flavor may not have a group {group.suffix!r}: one is made of that name")
        traits = {REQUIRED: list(group.required), FORBIDDEN: list(group.forbidden)}
        self.groups[group.suffix] = _Group(dict(group.resources), traits, group.in_tree)

    def merged(self) -> dict[str, int]:
        """Return the amounts of all groups together; a class that is asked for as 0 is there too."""
        found: dict[str, int] = {}
        for group in self.groups.values():
            for resource_class, amount in group.resources.items():
                found[resource_class] = found.get(resource_class, 0) + amount
        return found

    def fields(self) -> dict[str, Any]:
        """Return the fields of the request spec.

        Traits that are asked of who gives nothing are the root's: a host that has them is meant.
        """
        plain = _told(self.groups[""])
        traits = {kind: _once(plain.get(kind, ())) for kind in KINDS}
        root = {kind: list(self.root[kind]) for kind in KINDS}
        if not plain.get("resources"):
            root = {kind: [*root[kind], *traits[kind]] for kind in KINDS}
            traits = {kind: [] for kind in KINDS}
        groups = {suffix: _told(group) for suffix, group in self.groups.items() if suffix}
        groups = {suffix: told for suffix, told in groups.items() if told}
        return {
            "resources": plain.get("resources", {}),
            "required_traits": traits[REQUIRED],
            "forbidden_traits": traits[FORBIDDEN],
            "root_required": _once(root[REQUIRED]),
            "root_forbidden": _once(root[FORBIDDEN]),
            "groups": groups,
            "groups_policy": self._policy(groups),
            "same_subtree": self.same_subtree,
            "numa": self.numa,
        }

    def spec(self, **values: Any) -> RequestSpec:
        """Return the request spec, unchecked; ``values`` are its other fields."""
        return RequestSpec.of(**self.fields(), **values)

    def _policy(self, groups: Mapping[str, Any]) -> str | None:
        """Return the policy asked for; else cells are kept apart, and others may share, as in Nova."""
        if self.policy is not None or len(groups) < 2:
            return self.policy
        cells = {cell["group"] for cell in self.numa.get("cells", ())}
        return ISOLATE if groups.keys() <= cells else NONE


def _told(group: _Group) -> dict[str, Any]:
    resources = {resource_class: amount for resource_class, amount in group.resources.items() if amount}
    traits = {kind: _once(names) for kind, names in group.traits.items()}
    return {key: value for key, value in {"resources": resources, **traits, "in_tree": group.in_tree}.items() if value}


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
