# SPDX-License-Identifier: Apache-2.0
"""Accelerators of any class, each divided into parts (FPGA, vGPU, mediated devices)."""

from dataclasses import dataclass

from oslo_config import cfg

from compute_agent.conf import hardware
from compute_agent.resources.kinds import flat, units
from rpcapi import errors


@dataclass(frozen=True, slots=True)
class DeviceKind(units.UnitKind):
    """Devices of the nodes of a shape; each is a provider with parts numbered from 0, or one part with its name."""

    @classmethod
    def of_shape(cls, conf: cfg.ConfigOpts, group: str) -> "DeviceKind | None":
        """Create the devices of a shape, named after their group and number."""
        providers, parts = [], {}
        for section, parent, number in units.parse_devices(conf, group, "devices", hardware.DEVICE_PREFIX):
            conf.register_opts(hardware.DEVICE_OPTS, group=section)
            values = conf[section]
            if not values.resource_class:
                raise errors.BadConfiguration(why=f"[{section}] has no resource_class")
            inventory = flat.inventory(
                section, values.resource_class, total=values.instances, max_unit=values.instances
            )
            name = f"{section.removeprefix(hardware.DEVICE_PREFIX)}-{number}"
            device = units.device_provider(
                parent, name, inventories={values.resource_class: inventory}, traits=flat.traits(section, values.traits)
            )
            providers.append(device)
            is_whole = values.instances == 1
            parts[device.path] = (name,) if is_whole else tuple(str(part) for part in range(values.instances))
        return cls(tuple(providers), parts) if providers else None
