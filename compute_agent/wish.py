# SPDX-License-Identifier: Apache-2.0
"""What a build asks of a host beside the amounts that its claim holds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rpcapi.model.groups import RequestGroup
from rpcapi.model.numa.topology import Topology
from rpcapi.model.trees import Wanted

if TYPE_CHECKING:  # it brings the bus, which may not be there before the workers are forked
    from rpcapi.objects import RequestSpec


@dataclass(frozen=True, slots=True)
class Wish:
    """The parts of a request spec that a resource kind may read; without any: whatever comes."""

    topology: Topology = field(default_factory=Topology)
    wanted: Wanted = field(default_factory=lambda: Wanted(()))
    extra_specs: Mapping[str, str] = field(default_factory=dict)
    image: Mapping[str, Any] = field(default_factory=dict)
    hints: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_spec(cls, spec: "RequestSpec") -> "Wish":
        """Read a spec that was checked."""
        own = RequestGroup("", spec.resources, tuple(spec.required_traits))
        groups = [RequestGroup.from_dict(suffix, told) for suffix, told in spec.groups.items()]
        related = tuple(tuple(each) for each in spec.same_subtree)
        wanted = Wanted([own, *groups] if groups else (), spec.groups_policy, same_subtree=related)
        return cls(Topology.from_dict(spec.numa), wanted, spec.extra_specs, spec.image, spec.hints)
