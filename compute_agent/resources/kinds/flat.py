# SPDX-License-Identifier: Apache-2.0
"""CPUs, memory, disk and further classes of the node itself, without assignments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from os_resource_classes import DISK_GB, MEMORY_MB, VCPU
from oslo_config import cfg

from compute_agent.resources.kinds.kind import NodeProvider, ResourceKind
from rpcapi import errors
from rpcapi.resources import vocabulary
from rpcapi.resources.inventory import Inventory


@dataclass(frozen=True, slots=True)
class FlatKind(ResourceKind):
    """Inventories of the node's own provider."""

    inventories: Mapping[str, Inventory]

    @classmethod
    def of_shape(cls, conf: cfg.ConfigOpts, group: str) -> "FlatKind":
        """Read the amounts of a shape; with NUMA cells, CPUs and memory belong to the cells."""
        values = conf[group]
        amounts = {DISK_GB: (values.disk_gb, values.reserved_disk_gb, values.disk_allocation_ratio)}
        if not values.numa_cells:
            amounts |= {
                VCPU: (values.vcpus, values.reserved_vcpus, values.cpu_allocation_ratio),
                MEMORY_MB: (values.memory_mb, values.reserved_memory_mb, values.ram_allocation_ratio),
            }
        amounts |= {name: (total, 0, 1.0) for name, total in values.resources.items()}
        return cls(
            {
                name: inventory(group, name, total=total, reserved=reserved, allocation_ratio=ratio)
                for name, (total, reserved, ratio) in amounts.items()
                if total
            }
        )

    def inventory(self) -> Sequence[NodeProvider]:
        return [NodeProvider("", self.inventories)]


def inventory(group: str, resource_class: str, **fields: Any) -> Inventory:
    """Return an inventory of a shape; raises BadConfiguration that names the shape's group."""
    try:
        vocabulary.check_resource_class(resource_class)
        return Inventory.from_dict(resource_class, fields)
    except errors.InvalidRequest as error:
        raise errors.BadConfiguration(why=f"[{group}] {error}") from error


def traits(group: str, trait_names: Sequence[str]) -> tuple[str, ...]:
    try:
        for trait in trait_names:
            vocabulary.check_trait(trait)
    except errors.InvalidRequest as error:
        raise errors.BadConfiguration(why=f"[{group}] {error}") from error
    return tuple(sorted(trait_names))
