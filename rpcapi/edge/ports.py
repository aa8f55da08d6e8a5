# SPDX-License-Identifier: Apache-2.0
"""Ports that exist before their server: the bandwidth they take, the network they reach, the segment they are on."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import os_resource_classes as orc

from rpcapi import errors
from rpcapi.edge.asked import integer
from rpcapi.edge.draft import Draft
from rpcapi.model.groups import RequestGroup

PORT = "_port{}"
AMOUNTS = {
    "egress_kbps": orc.NET_BW_EGR_KILOBIT_PER_SEC,
    "ingress_kbps": orc.NET_BW_IGR_KILOBIT_PER_SEC,
}
KEYS = (*AMOUNTS, "physnet", "vnic", "segment")


@dataclass(frozen=True, slots=True)
class Port:
    """A port: bandwidth by resource class, the physical network and kind of its interface, its segment."""

    bandwidth: Mapping[str, int]
    physnet: str | None = None
    vnic: str | None = None
    segment: str | None = None


def read(told: Mapping[str, str]) -> Port:
    """Return the port that texts describe; raises InvalidSpec for what is none."""
    unknown = sorted(told.keys() - set(KEYS))
    if unknown or not told:
        what = f"has no {unknown[0]!r}" if unknown else "needs something to be told by"
        raise errors.InvalidSpec(why=f"a port {what}; known: {', '.join(KEYS)}")
    empty = next((key for key, text in told.items() if not text), None)
    if empty is not None:
        raise errors.InvalidSpec(why=f"{empty} of a port is empty")
    bandwidth = {}
    for key, resource_class in AMOUNTS.items():
        amount = integer(told.get(key, "0"))
        if amount is None:
            raise errors.InvalidSpec(why=f"{key} of a port must be an integer from 0 up, not {told[key]!r}")
        if amount:
            bandwidth[resource_class] = amount
    if "vnic" in told and not bandwidth:
        raise errors.InvalidSpec(why="vnic says whose bandwidth a port takes; it takes none")
    return Port(bandwidth, told.get("physnet"), told.get("vnic"), told.get("segment"))


def translate(ports: Sequence[Port], draft: Draft) -> list[dict[str, Any]]:
    """Add a group for each port that takes bandwidth, its traits named as by Neutron; return RequestSpec.ports.

    Who gives a port's bandwidth is on its network by its trait; of a port without any the network service must know.
    """
    told = []
    for number, port in enumerate(ports):
        group = PORT.format(number) if port.bandwidth else None
        if group is not None:
            traits = [f"CUSTOM_PHYSNET_{_name(port.physnet)}"] if port.physnet else []
            traits += [f"CUSTOM_VNIC_TYPE_{_name(port.vnic)}"] if port.vnic else []
            draft.add(RequestGroup(group, port.bandwidth, tuple(traits)))
        fields = {"physnet": None if group else port.physnet, "segment": port.segment, "group": group}
        told.append({key: value for key, value in fields.items() if value})
    return told


def _name(text: str) -> str:
    return re.sub(r"[^A-Z0-9_]", "_", text.upper())
