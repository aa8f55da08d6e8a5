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
from rpcapi.resources.trees.search import NoCandidateReason

# Assignment of one kind to a guest, as JSON in the journal.
Assignment = Mapping[str, Any]
Amounts = Mapping[str, Mapping[str, int]]  # {path: {class: amount}}


@dataclass(frozen=True, slots=True)
class NodeProvider:
    """Resource provider at a ``path`` below its node ("": the node), shared by all kinds that describe it."""

    path: str
    inventories: Mapping[str, Inventory] = field(default_factory=dict)
    traits: tuple[str, ...] = ()
    parent: str = ""


class UndecidedMapping(Exception):
    """The search for group mappings ended with its steps; there may be more mappings."""

    def __str__(self) -> str:
        return f"the providers of its request groups were {NoCandidateReason.UNDECIDED}"


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
            which these can place the guest's topology. Raises UndecidedMapping if the search ends before all mappings.
    """

    requirements: BuildRequirements
    amounts: Amounts
    node_amounts: Amounts
    group_mappings: GroupMappings


class ResourceKind(abc.ABC):
    """Kind of resource on the nodes of one shape. Stateless: each call gets the existing assignments.

    A kind that needs only amounts overrides ``inventory`` alone. An exception in ``inventory`` disables the kind, an
    exception in ``assign`` refuses the build; both are logged with the kind's name. UndecidedMapping only refuses.
    """

    @classmethod
    @abc.abstractmethod
    def of_shape(cls, conf: cfg.ConfigOpts, group: str) -> "ResourceKind | None":
        """Return the kind for config group "shape:NAME", or None if nodes of the shape lack this kind.

        Registers its own options in that group. Raises BadConfiguration, which aborts the start.
        """

    @abc.abstractmethod
    def inventory(self) -> Sequence[NodeProvider]:
        """Return the providers of each node of the shape. Called once."""

    def concerns(self, request: AssignmentRequest) -> bool:
        """Return whether the guest needs this kind. Default: whether its claim has amounts of the kind."""
        return bool(request.amounts)

    def assign(self, request: AssignmentRequest, assignments: Sequence[Assignment]) -> Assignment | str:
        """Return the guest's assignment ({}: amounts only) next to ``assignments``, or the reason of a refusal."""
        return {}

    def report(self, assignments: Sequence[Assignment]) -> Mapping[str, Any]:
        """Return report keys of the node: "numa", "facts", "metrics". Called only for kinds with inventory."""
        return {}

    def describe(self, assignment: Assignment) -> str:
        """Describe an assignment for operators, who read it in the instance's record."""
        return ""
