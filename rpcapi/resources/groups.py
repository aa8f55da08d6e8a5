# SPDX-License-Identifier: Apache-2.0
"""Request groups, as the granular request groups of Placement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NONE = "none"  # suffixed groups may be served by the same provider
ISOLATE = "isolate"  # each suffixed group is served by a different provider
POLICIES = (NONE, ISOLATE)


@dataclass(frozen=True, slots=True)
class RequestGroup:
    """Amounts by resource class, and the requirements on the providers that serve them.

    The group with suffix "" may be spread over the providers of a tree and its sharing providers, each resource class
    from one of them; every other group is served by one provider. A provider must have all ``required`` traits, at
    least one of each element of ``any_of`` and none that are ``forbidden``. It must be in at least one aggregate of
    each element of ``member_of``. ``in_tree`` names any provider of the required tree.
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
        """Return the mapping that RequestSpec.groups has under the group's suffix; empty fields are omitted."""
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
        """Build from what ``as_dict`` returns; rpcapi.validation.groups must have checked it before."""
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
    """Return lists of alternative names as immutable tuples."""
    return tuple(tuple(names) for names in lists)
