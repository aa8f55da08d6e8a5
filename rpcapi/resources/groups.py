# SPDX-License-Identifier: Apache-2.0
"""Request groups: Placement's granular request groups."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

NONE = "none"  # suffixed groups may share a provider
ISOLATE = "isolate"  # each suffixed group needs a separate provider
POLICIES = (NONE, ISOLATE)
MAX_CLASSES = 32  # resource classes of one group
MAX_GROUPS = 64  # with a suffix
MAX_SUBTREES = 64


@dataclass(frozen=True, slots=True)
class RequestGroup:
    """Amounts by resource class, and requirements on the providers that serve them.

    The unsuffixed group ("") may be spread over a tree and its sharing providers, with each resource class from one
    provider. Any other group is served by one provider. ``any_of``: Sets of traits; the provider needs one trait of
    each set. ``member_of``: Sets of aggregates; the provider must be in one aggregate of each set. ``in_tree``: Any
    provider of the required tree.
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
        """Return the mapping stored in RequestSpec.groups under the group's suffix, without empty fields."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "suffix"}
        return {name: thaw(value) for name, value in values.items() if value not in (None, (), {})}

    @classmethod
    def from_dict(cls, suffix: str, values: Mapping[str, Any]) -> "RequestGroup":
        return cls(suffix, **{name: freeze(value) for name, value in values.items()})


def freeze(value: Any) -> Any:
    """Return a copy with tuples instead of lists, at every level of lists."""
    if isinstance(value, list):
        return tuple(map(freeze, value))
    return dict(value) if isinstance(value, dict) else value


def thaw(value: Any) -> Any:
    """Return a copy with lists instead of tuples; the reverse of freeze."""
    if isinstance(value, tuple):
        return list(map(thaw, value))
    return dict(value) if isinstance(value, dict) else value
