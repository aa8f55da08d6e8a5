# SPDX-License-Identifier: Apache-2.0
"""Request groups, like Placement's granular request groups."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

NONE = "none"  # suffixed groups may share a provider
ISOLATE = "isolate"  # suffixed groups need separate providers
POLICIES = (NONE, ISOLATE)
MAX_CLASSES = 32  # resource classes per group
MAX_GROUPS = 64  # suffixed groups
MAX_SUBTREES = 64


@dataclass(frozen=True, slots=True)
class RequestGroup:
    """Amounts by resource class, with requirements on the providers.

    One provider serves a suffixed group. The unsuffixed group ("") may be spread over a tree and its sharing providers,
    each resource class at one provider. Every set of traits in ``any_of``, and of aggregates in ``member_of``, needs
    one match. ``in_tree`` is any provider of the required tree.
    """

    suffix: str = ""
    resources: Mapping[str, int] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    any_of: tuple[tuple[str, ...], ...] = ()
    forbidden: tuple[str, ...] = ()
    member_of: tuple[tuple[str, ...], ...] = ()
    forbidden_aggregates: tuple[str, ...] = ()
    in_tree: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the mapping of RequestSpec.groups, without suffix and empty fields."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "suffix"}
        return {name: thaw(value) for name, value in values.items() if value not in (None, (), {})}

    @classmethod
    def from_dict(cls, suffix: str, values: Mapping[str, Any]) -> "RequestGroup":
        return cls(suffix, **{name: freeze(value) for name, value in values.items()})


def freeze(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(freeze, value))
    return dict(value) if isinstance(value, dict) else value


def thaw(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(map(thaw, value))
    return dict(value) if isinstance(value, dict) else value
