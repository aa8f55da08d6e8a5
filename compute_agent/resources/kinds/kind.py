# SPDX-License-Identifier: Apache-2.0
"""Interface of resource kinds, plugins of the entry point group ``gantt.resource_kinds``."""

import abc
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from oslo_config import cfg

from compute_agent.resources.requirements import BuildRequirements
from rpcapi.resources.inventory import Inventory
from rpcapi.resources.numa.cells import HostCell

# Assignment of one kind to a guest, as JSON in the journal.
Assignment = Mapping[str, Any]
Amounts = Mapping[str, Mapping[str, int]]  # {path: {class: amount}}


@dataclass(frozen=True, slots=True)
class NodeProvider:
    """Resource provider of a node; ``path`` is below the node's name, "" for the node itself.

    ``parent`` is a path as well. Kinds that describe the same path share the provider: inventories and traits are
    merged.
    """

    path: str
    inventories: Mapping[str, Inventory] = field(default_factory=dict)
    traits: tuple[str, ...] = ()
    parent: str = ""


class GroupMappings(Protocol):
    def __call__(self, cells: Sequence[HostCell] = ...) -> Iterable[Mapping[str, str]]: ...


@dataclass(frozen=True, slots=True)
class AssignmentRequest:
    """Request to a resource kind to assign resources to one guest.

    Attributes:
        amounts: The claim's amounts of this kind's inventories, {path: {class: amount}}; they fit with the other
            guests.
        node_amounts: The claim's amounts of the whole node.
        group_mappings: Yields each {suffix: path} of request groups consistent with the claim, which does not record
            the mapping; yields none for a request without suffixed groups. Given NUMA cells, yields the mappings at
            which these can place the guest's topology.
    """

    requirements: BuildRequirements
    amounts: Amounts
    node_amounts: Amounts
    group_mappings: GroupMappings


class ResourceKind(abc.ABC):
    """Kind of resource on the nodes of one shape; stateless, since each call gets the existing assignments.

    A kind that needs only amounts overrides ``inventory`` alone. An exception in ``inventory`` disables the kind, an
    exception in ``assign`` refuses the build; both are logged with the kind's name.
    """

    @classmethod
    @abc.abstractmethod
    def of_shape(cls, conf: cfg.ConfigOpts, group: str) -> "ResourceKind | None":
        """Return the kind for the shape in config group "shape:NAME", or None if its nodes lack this kind.

        Registers its own options in that group. Raises BadConfiguration, which aborts the start.
        """

    @abc.abstractmethod
    def inventory(self) -> Sequence[NodeProvider]:
        """Return the providers of a node of the shape; called once."""

    def concerns(self, request: AssignmentRequest) -> bool:
        """Return whether the guest needs this kind; by default, whether its claim has amounts of it."""
        return bool(request.amounts)

    def assign(self, request: AssignmentRequest, assignments: Sequence[Assignment]) -> Assignment | str:
        """Return the guest's assignment, given the node's existing ``assignments``, or the reason of a refusal.

        An empty assignment means that the guest has amounts only.
        """
        return {}

    def report(self, assignments: Sequence[Assignment]) -> Mapping[str, Any]:
        """Return further keys of a node's report: "numa", "facts", "metrics". Called only for kinds with inventory."""
        return {}

    def describe(self, assignment: Assignment) -> str:
        """Return a short readable description of an assignment."""
        return ""
