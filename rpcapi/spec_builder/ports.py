# SPDX-License-Identifier: Apache-2.0
"""Existing ports to attach to a server: bandwidth, physical network and segment."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import os_resource_classes as orc

from rpcapi import errors
from rpcapi.resources.groups import RequestGroup
from rpcapi.spec_builder.draft import SpecDraft
from rpcapi.validation.rules import document, matching, text

PORT = "_port{}"
AMOUNTS = {
    "egress_kbps": orc.NET_BW_EGR_KILOBIT_PER_SEC,
    "ingress_kbps": orc.NET_BW_IGR_KILOBIT_PER_SEC,
}
KEYS = (*AMOUNTS, "physnet", "vnic", "segment")
_OPTIONS = document(
    {**dict.fromkeys(KEYS, text), **dict.fromkeys(AMOUNTS, matching("[0-9]{1,12}", "an amount in kbps"))}
)


@dataclass(frozen=True, slots=True)
class Port:
    bandwidth: Mapping[str, int]
    physnet: str | None = None
    vnic: str | None = None
    segment: str | None = None


def read(texts: Mapping[str, str]) -> Port:
    _OPTIONS("port", texts)
    if not texts:
        raise errors.InvalidSpec(why=f"a port needs at least one option of {', '.join(KEYS)}")
    amounts = {resource_class: int(texts.get(key, 0)) for key, resource_class in AMOUNTS.items()}
    bandwidth = {resource_class: amount for resource_class, amount in amounts.items() if amount}
    if "vnic" in texts and not bandwidth:
        raise errors.InvalidSpec(why="vnic of a port needs egress_kbps or ingress_kbps")
    return Port(bandwidth, texts.get("physnet"), texts.get("vnic"), texts.get("segment"))


def translate(ports: Sequence[Port], draft: SpecDraft) -> list[dict[str, Any]]:
    """Add a group with Neutron's traits for each port with bandwidth; return RequestSpec.ports."""
    spec_ports = []
    for number, port in enumerate(ports):
        group = PORT.format(number) if port.bandwidth else None
        if group is not None:
            traits = [f"CUSTOM_PHYSNET_{_name(port.physnet)}"] if port.physnet else []
            traits += [f"CUSTOM_VNIC_TYPE_{_name(port.vnic)}"] if port.vnic else []
            draft.add_group(RequestGroup(group, port.bandwidth, tuple(traits)))
        fields = {"physnet": None if group else port.physnet, "segment": port.segment, "group": group}
        spec_ports.append({key: value for key, value in fields.items() if value})
    return spec_ports


def _name(text: str) -> str:
    return re.sub(r"[^A-Z0-9_]", "_", text.upper())
