# SPDX-License-Identifier: Apache-2.0
"""PCI devices: handed out whole, or by their virtual functions."""

import re
from dataclasses import dataclass

from os_traits import COMPUTE_SOCKET_PCI_NUMA_AFFINITY
from oslo_config import cfg

from compute_agent.conf import hardware
from compute_agent.kinds import flat, units
from compute_agent.kinds.kind import Below
from rpcapi import errors

PHYSICAL_NETWORK = "CUSTOM_PHYSNET_{}"


@dataclass(frozen=True, slots=True)
class PciKind(units.UnitKind):
    """The PCI devices of the nodes of one shape, each a provider under its address."""

    @classmethod
    def of_shape(cls, conf: cfg.ConfigOpts, group: str) -> "PciKind | None":
        """Give each device of a shape an address, on a bus of its own."""
        below, functions = [], {}
        for kind, parent, number in units.placed(conf, group, "pci_devices", hardware.PCI_PREFIX):
            if number > 0xFE:
                raise errors.BadConfiguration(why=f"[{group}] pci_devices: a node has room for 255")
            hardware.register_opts(conf, kind)
            values = conf[kind]
            if not (values.vendor_id and values.product_id):
                raise errors.BadConfiguration(why=f"[{kind}] has no vendor_id or no product_id")
            name = values.resource_class or f"CUSTOM_PCI_{values.vendor_id}_{values.product_id}".upper()
            there = flat.inventory(kind, name, total=values.functions, max_unit=values.functions)
            traits = [*values.traits, *_physical_network(values.physical_network)]
            device = units.below(
                parent, _address(number + 1, 0), inventories={name: there}, traits=flat.traits(kind, traits)
            )
            below.append(device)
            # A device that is shared is its physical function, which no guest gets.
            first = 0 if values.functions == 1 else 1
            functions[device.path] = tuple(_address(number + 1, first + each) for each in range(values.functions))
        if below and conf[group].numa_cells:
            below.append(Below("", traits=(COMPUTE_SOCKET_PCI_NUMA_AFFINITY,)))
        return cls(tuple(below), functions) if below else None


def _address(bus: int, function: int) -> str:
    return f"0000:{bus:02x}:{function // 8:02x}.{function % 8}"


def _physical_network(name: str) -> list[str]:
    return [PHYSICAL_NETWORK.format(re.sub(r"[^A-Z0-9_]", "_", name.upper()))] if name else []
