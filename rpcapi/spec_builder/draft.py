# SPDX-License-Identifier: Apache-2.0
"""Data of the translation: flavor and image properties as its input, the spec draft as its output."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rpcapi import errors
from rpcapi.resources.groups import ISOLATE, NONE, RequestGroup
from rpcapi.spec_builder.flavors import Flavor
from rpcapi.spec_builder.images import NO_IMAGE, RENAMED, Image
from rpcapi.validation.topology import MAX_CPUS

TRUE = ("1", "t", "true", "on", "y", "yes")


@dataclass(frozen=True, slots=True)
class FlavorImageProperties:
    """Flavor and image by key: extra spec ``hw:KEY`` of the flavor, property ``hw_KEY`` of the image."""

    flavor: Flavor
    image: Image = NO_IMAGE

    def flavor_value(self, key: str, prefix: str = "hw") -> str | None:
        return self.flavor.extra_specs.get(f"{prefix}:{key}") or None

    def image_value(self, key: str, prefix: str = "hw") -> str | None:
        full_name = f"{prefix}_{key}"
        for name, value in self.image.properties.items():
            if RENAMED.get(name, name) == full_name:
                return value or None
        return None

    def value(
        self, key: str, allowed_values: Collection[str] = (), prefix: str = "hw", *, is_exclusive: bool = False
    ) -> str | None:
        """Return the value of flavor or image; raises InvalidSpec if they conflict or the value is not allowed."""
        flavor_value, image_value = self.flavor_value(key, prefix), self.image_value(key, prefix)
        if None not in (flavor_value, image_value) and (is_exclusive or flavor_value != image_value):
            raise self.conflict(key, prefix)
        value = flavor_value if flavor_value is not None else image_value
        self.check_allowed(key, value, allowed_values, prefix)
        return value

    def flag(self, key: str) -> bool:
        answers = {value.lower() in TRUE for value in (self.flavor_value(key), self.image_value(key)) if value}
        if len(answers) > 1:
            raise self.conflict(key)
        return True in answers

    def check_allowed(self, key: str, value: str | None, allowed_values: Collection[str], prefix: str = "hw") -> None:
        if value is not None and allowed_values and value not in allowed_values:
            raise self.invalid(f"{prefix}:{key}", f"must be one of {', '.join(allowed_values)}, not {value!r}")

    def cpu_numbers(self) -> frozenset[int]:
        """Return the numbers of the guest's CPUs; raises InvalidSpec if they are too many for a topology."""
        if self.flavor.vcpus > MAX_CPUS:
            raise errors.InvalidSpec(
                why=f"flavor {self.flavor.name!r} has {self.flavor.vcpus} cpus; a guest with pinned cpus or cells may "
                f"have at most {MAX_CPUS}"
            )
        return frozenset(range(self.flavor.vcpus))

    def conflict(self, key: str, prefix: str = "hw") -> errors.InvalidSpec:
        flavor_value, image_value = self.flavor_value(key, prefix), self.image_value(key, prefix)
        return errors.InvalidSpec(
            why=f"flavor {self.flavor.name!r} sets {prefix}:{key}={flavor_value} and image {self.image.name!r} "
            f"{prefix}_{key}={image_value}: the flavor does not allow this image value"
        )

    def invalid(self, key: str, why: str) -> errors.InvalidSpec:
        return errors.InvalidSpec(why=f"extra spec {key!r} of flavor {self.flavor.name!r}, or its image, {why}")


def parse_integer(text: str | None) -> int | None:
    return int(text) if text is not None and len(text) <= 12 and text.isascii() and text.isdigit() else None


# Kinds of traits, as fields of RequestGroup.
REQUIRED, FORBIDDEN = KINDS = ("required", "forbidden")


@dataclass(slots=True)
class SpecDraft:
    """Request groups by suffix, which each translation step extends; amount 0 suppresses the flavor's default."""

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
        resources = {**self.unsuffixed, **dict.fromkeys(resource_classes, 0)}
        self.groups[""] = replace(self.groups[""], resources=resources)

    def add_trait(self, name: str, kind: str = REQUIRED, suffix: str = "") -> None:
        group = self.groups.get(suffix, RequestGroup(suffix))
        traits: dict[str, Any] = {kind: (*getattr(group, kind), name)}
        self.groups[suffix] = replace(group, **traits)

    def add_group(self, group: RequestGroup) -> None:
        if group.suffix in self.groups:
            raise errors.InvalidSpec(
                why=f"the suffix of group {group.suffix!r} is reserved; use another suffix in the flavor"
            )
        self.groups[group.suffix] = group

    def total_resources(self) -> dict[str, int]:
        totals = Counter[str]()
        for group in self.groups.values():
            totals.update(group.resources)
        return dict(totals)

    def requested_group(self, suffix: str = "") -> RequestGroup:
        group = self.groups[suffix]
        resources = {resource_class: amount for resource_class, amount in group.resources.items() if amount}
        required, forbidden = tuple(_unique(group.required)), tuple(_unique(group.forbidden))
        return replace(group, resources=resources, required=required, forbidden=forbidden)

    def spec_fields(self) -> dict[str, Any]:
        """Return the fields of the request spec; traits without resources become requirements on the root."""
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
        """Return the groups policy; by default only NUMA cells are isolated, as in Nova."""
        if self.policy is not None or len(groups) < 2:
            return self.policy
        cells = {cell["group"] for cell in self.numa.get("cells", ())}
        return ISOLATE if groups.keys() <= cells else NONE


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
