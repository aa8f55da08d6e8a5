# SPDX-License-Identifier: Apache-2.0
"""Request groups: Placement's granular request groups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
        fields: dict[str, Any] = {"resources": dict(self.resources)} if self.resources else {}
        for name in ("required", "forbidden", "forbidden_aggregates"):
            if getattr(self, name):
                fields[name] = list(getattr(self, name))
        for name in ("any_of", "member_of"):
            if getattr(self, name):
                fields[name] = [list(alternatives) for alternatives in getattr(self, name)]
        if self.in_tree is not None:
            fields["in_tree"] = self.in_tree
        return fields

    @classmethod
    def from_dict(cls, suffix: str, fields: Mapping[str, Any]) -> "RequestGroup":
        return cls(
            suffix,
            dict(fields.get("resources", {})),
            tuple(fields.get("required", ())),
            freeze_alternatives(fields.get("any_of", ())),
            tuple(fields.get("forbidden", ())),
            freeze_alternatives(fields.get("member_of", ())),
            tuple(fields.get("forbidden_aggregates", ())),
            fields.get("in_tree"),
        )


def freeze_alternatives(lists: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(names) for names in lists)
