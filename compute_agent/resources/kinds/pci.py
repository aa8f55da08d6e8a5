# SPDX-License-Identifier: Apache-2.0
"""PCI devices, assigned as a whole or by virtual function."""

import re
from dataclasses import dataclass

from os_traits import COMPUTE_SOCKET_PCI_NUMA_AFFINITY
from oslo_config import cfg

from compute_agent.conf import hardware
from compute_agent.resources.kinds import flat, units
from compute_agent.resources.kinds.kind import NodeProvider
from rpcapi import errors

PHYSICAL_NETWORK = "CUSTOM_PHYSNET_{}"


@dataclass(frozen=True, slots=True)
class PciKind(units.UnitKind):
    """PCI devices of the nodes of a shape; each is a provider named by its address."""

    @classmethod
    def of_shape(cls, conf: cfg.ConfigOpts, group: str) -> "PciKind | None":
        """Create the devices of a shape, each on its own bus."""
        providers, functions = [], {}
        for section, parent, number in units.parse_devices(conf, group, "pci_devices", hardware.PCI_PREFIX):
            if number > 0xFE:
                raise errors.BadConfiguration(why=f"[{group}] pci_devices: a node may have at most 255 devices")
            conf.register_opts(hardware.PCI_OPTS, group=section)
            values = conf[section]
            if not (values.vendor_id and values.product_id):
                raise errors.BadConfiguration(why=f"[{section}] has no vendor_id or no product_id")
            name = values.resource_class or f"CUSTOM_PCI_{values.vendor_id}_{values.product_id}".upper()
            inventory = flat.inventory(section, name, total=values.functions, max_unit=values.functions)
            traits = [*values.traits, *_physical_network(values.physical_network)]
            device = units.device_provider(
                parent, _address(number + 1, 0), inventories={name: inventory}, traits=flat.traits(section, traits)
            )
            providers.append(device)
            # Function 0 of a shared device is its physical function, never assigned to guests.
            first = 0 if values.functions == 1 else 1
            functions[device.path] = tuple(
                _address(number + 1, first + function) for function in range(values.functions)
            )
        if providers and conf[group].numa_cells:
            providers.append(NodeProvider("", traits=(COMPUTE_SOCKET_PCI_NUMA_AFFINITY,)))
        return cls(tuple(providers), functions) if providers else None


def _address(bus: int, function: int) -> str:
    return f"0000:{bus:02x}:{function // 8:02x}.{function % 8}"


def _physical_network(name: str) -> list[str]:
    return [PHYSICAL_NETWORK.format(re.sub(r"[^A-Z0-9_]", "_", name.upper()))] if name else []
