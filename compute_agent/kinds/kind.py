# SPDX-License-Identifier: Apache-2.0
"""What a kind of resource is: the interface of plugins, found by entry point ``gantt.resource_kinds``."""

import abc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from oslo_config import cfg

from compute_agent.wish import BuildRequirements
from rpcapi.model.inventory import Inventory

# What a guest was given of one kind, for the journal: a mapping that JSON can hold.
Assignment = Mapping[str, Any]
Amounts = Mapping[str, Mapping[str, int]]  # {path: {class: amount}}


@dataclass(frozen=True, slots=True)
class NodeProvider:
    """A provider of a node, under its path below the node's name; the path "" is the node itself.

    ``parent`` is a path as well. Several kinds may speak of one path: their inventories and traits add up.
    """

    path: str
    inventories: Mapping[str, Inventory] = field(default_factory=dict)
    traits: tuple[str, ...] = ()
    parent: str = ""


@dataclass(frozen=True, slots=True)
class AssignmentRequest:
    """What is asked of a kind for one guest.

    ``amounts`` is what the guest's claim holds of this kind's inventories, ``held`` of the whole node; both fit beside
    what others hold. ``ways`` yields the ways in which that serves the request's groups, {suffix: path}, of which the
    claim does not say which was meant; there is none where the request has no groups with a suffix.
    """

    requirements: BuildRequirements
    amounts: Amounts
    node_amounts: Amounts
    group_mappings: Callable[[], Iterable[Mapping[str, str]]]


class ResourceKind(abc.ABC):
    """One kind of resource on the nodes of one shape. It holds no state: what is taken is told to it each time.

    A kind that needs no more than amounts overrides ``inventory`` alone. Whatever ``inventory`` raises leaves the kind
    out, whatever ``assign`` raises refuses the build; both are logged with the kind's name.
    """

    @classmethod
    @abc.abstractmethod
    def of_shape(cls, conf: cfg.ConfigOpts, group: str) -> "ResourceKind | None":
        """Return the kind for the nodes of the shape in ``group``, "shape:NAME"; None where they have nothing of it.

        Options of its own it registers there itself. Raises BadConfiguration, which ends the start.
        """

    @abc.abstractmethod
    def inventory(self) -> Sequence[NodeProvider]:
        """Return what a node of the shape has; asked once."""

    def concerns(self, request: AssignmentRequest) -> bool:
        """Tell whether this kind has to do with a guest: by default where the guest gets something of it."""
        return bool(request.amounts)

    def assign(self, request: AssignmentRequest, assignments: Sequence[Assignment]) -> Assignment | str:
        """Return what of this kind the guest gets beside what was ``taken`` on the node, or a sentence why not.

        An empty assignment is none to speak of: the amounts are all there is.
        """
        return {}

    def report(self, assignments: Sequence[Assignment]) -> Mapping[str, Any]:
        """Return further keys of a node's report, "numa", "facts" and "metrics"; asked where the kind has inventory."""
        return {}

    def describe(self, assignment: Assignment) -> str:
        """Return an assignment in a few words, for people."""
        return ""
