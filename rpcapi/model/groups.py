# SPDX-License-Identifier: Apache-2.0
"""Request groups: what one part of a request asks of one provider, as Placement's granular groups do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NONE = "none"  # suffixed groups may share a provider
ISOLATE = "isolate"  # each suffixed group takes a provider of its own
POLICIES = (NONE, ISOLATE)


@dataclass(frozen=True, slots=True)
class RequestGroup:
    """Amounts by resource class, and what is asked of whoever gives them.

    The group with suffix "" may be spread over a tree and what shares with it, a class from one provider each; any
    other is served by one provider. ``required`` traits must all be there, of each element of ``any_of`` one,
    ``forbidden`` ones not. ``member_of`` is met where of each of its elements one aggregate holds the provider;
    ``in_tree`` names any provider of the tree to take from.
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
        """Return the form that a RequestSpec carries under the group's suffix: what is not asked is left out."""
        told: dict[str, Any] = {"resources": dict(self.resources)} if self.resources else {}
        for name in ("required", "forbidden", "forbidden_aggregates"):
            if getattr(self, name):
                told[name] = list(getattr(self, name))
        for name in ("any_of", "member_of"):
            if getattr(self, name):
                told[name] = [list(each) for each in getattr(self, name)]
        if self.in_tree is not None:
            told["in_tree"] = self.in_tree
        return told

    @classmethod
    def from_dict(cls, suffix: str, told: Mapping[str, Any]) -> "RequestGroup":
        """Read what ``as_dict`` returns; its shape was checked before (rpcapi.model.request)."""
        return cls(
            suffix,
            dict(told.get("resources", {})),
            tuple(told.get("required", ())),
            alternatives(told.get("any_of", ())),
            tuple(told.get("forbidden", ())),
            alternatives(told.get("member_of", ())),
            tuple(told.get("forbidden_aggregates", ())),
            told.get("in_tree"),
        )


def alternatives(told: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Return lists of names of which one each is wanted, as values that do not change."""
    return tuple(tuple(each) for each in told)
