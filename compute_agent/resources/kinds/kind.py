# SPDX-License-Identifier: Apache-2.0
"""Resource kind: the interface of plugins of the entry point group ``gantt.resource_kinds``."""

import abc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from oslo_config import cfg

from compute_agent.resources.requirements import BuildRequirements
from rpcapi.resources.inventory import Inventory

# What one kind assigned to a guest, as the journal stores it: a mapping that JSON can represent.
Assignment = Mapping[str, Any]
Amounts = Mapping[str, Mapping[str, int]]  # {path: {class: amount}}


@dataclass(frozen=True, slots=True)
class NodeProvider:
    """A resource provider of a node, by its path below the node's name; the path "" is the node itself.

    ``parent`` is a path as well. Several kinds may describe the same path: their inventories and traits are merged.
    """

    path: str
    inventories: Mapping[str, Inventory] = field(default_factory=dict)
    traits: tuple[str, ...] = ()
    parent: str = ""


@dataclass(frozen=True, slots=True)
class AssignmentRequest:
    """Request to a resource kind for the assignment of one guest.

    ``amounts`` are the claim's amounts of this kind's inventories, ``node_amounts`` those of the whole node; both fit
    beside the other guests. ``group_mappings`` yields every mapping {suffix: path} of the request's groups that is
    consistent with the claim, which does not record the mapping; it yields none for a request without suffixed groups.
    """

    requirements: BuildRequirements
    amounts: Amounts
    node_amounts: Amounts
    group_mappings: Callable[[], Iterable[Mapping[str, str]]]


class ResourceKind(abc.ABC):
    """One kind of resource on the nodes of one shape. It is stateless: each call gets the existing assignments.

    A kind that needs only amounts overrides ``inventory`` alone. An exception of ``inventory`` disables the kind, an
    exception of ``assign`` refuses the build; both are logged with the kind's name.
    """

    @classmethod
    @abc.abstractmethod
    def of_shape(cls, conf: cfg.ConfigOpts, group: str) -> "ResourceKind | None":
        """Return the kind for the nodes of the shape in ``group``, "shape:NAME", or None when they have none of it.

        It registers its own options in that group. Raises BadConfiguration, which aborts the start.
        """

    @abc.abstractmethod
    def inventory(self) -> Sequence[NodeProvider]:
        """Return the providers of a node of the shape; called once."""

    def concerns(self, request: AssignmentRequest) -> bool:
        """Return whether the guest needs this kind; by default, whether its claim has amounts of it."""
        return bool(request.amounts)

    def assign(self, request: AssignmentRequest, assignments: Sequence[Assignment]) -> Assignment | str:
        """Return the guest's assignment beside the existing ``assignments`` of the node, or the reason for a refusal.

        An empty assignment means that the guest has amounts only.
        """
        return {}

    def report(self, assignments: Sequence[Assignment]) -> Mapping[str, Any]:
        """Return further keys of a node's report: "numa", "facts", "metrics". Called if the kind has inventory."""
        return {}

    def describe(self, assignment: Assignment) -> str:
        """Return a short readable description of an assignment."""
        return ""
