# SPDX-License-Identifier: Apache-2.0
"""Requirements of a build beyond the amounts of its claim."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rpcapi.resources.groups import RequestGroup, freeze
from rpcapi.resources.numa.topology import GuestTopology
from rpcapi.resources.trees.tree import TreeRequest

if TYPE_CHECKING:  # objects import the bus, which must not be loaded before the workers are forked
    from rpcapi.objects import RequestSpec


@dataclass(frozen=True, slots=True)
class BuildRequirements:
    """Parts of a request spec that resource kinds may read; the defaults require nothing."""

    topology: GuestTopology = field(default_factory=GuestTopology)
    tree_request: TreeRequest = field(default_factory=lambda: TreeRequest(()))
    extra_specs: Mapping[str, str] = field(default_factory=dict)
    image: Mapping[str, Any] = field(default_factory=dict)
    hints: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_spec(cls, spec: "RequestSpec") -> "BuildRequirements":
        unsuffixed = RequestGroup("", spec.resources, tuple(spec.required_traits))
        groups = [RequestGroup.from_dict(suffix, document) for suffix, document in spec.groups.items()]
        tree_request = TreeRequest(
            [unsuffixed, *groups] if groups else (), spec.groups_policy, same_subtree=freeze(spec.same_subtree)
        )
        return cls(GuestTopology.from_dict(spec.numa), tree_request, spec.extra_specs, spec.image, spec.hints)
