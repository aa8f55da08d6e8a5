# SPDX-License-Identifier: Apache-2.0
"""Licences that servers hold while they run: a resource kind that needs no more than amounts."""

from collections.abc import Sequence

from oslo_config import cfg

from compute_agent.resources.kinds.kind import NodeProvider, ResourceKind
from rpcapi.resources.inventory import Inventory

RESOURCE_CLASS = "CUSTOM_LICENCE"
OPTS = [cfg.IntOpt("licences", default=0, min=0, help="Licences that each node of the shape has.")]


class Licences(ResourceKind):
    """So many licences a node. A flavor asks for one by resources:CUSTOM_LICENCE=1."""

    def __init__(self, number: int) -> None:
        self._number = number

    @classmethod
    def of_shape(cls, conf: cfg.ConfigOpts, group: str) -> "Licences | None":
        """Return the kind for nodes of the shape, None where they have no licences."""
        conf.register_opts(OPTS, group=group)
        number = conf[group].licences
        return cls(number) if number else None

    def inventory(self) -> Sequence[NodeProvider]:
        """Return what a node has, as a provider of its own below the node."""
        return [NodeProvider("licences", {RESOURCE_CLASS: Inventory(self._number)})]
