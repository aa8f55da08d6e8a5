# SPDX-License-Identifier: Apache-2.0
"""Volumes and ports to attach to a server: existing ones, and new volumes to create with it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import os_resource_classes as orc
import os_traits

from rpcapi import errors
from rpcapi.resources.groups import RequestGroup
from rpcapi.spec_builder.draft import SpecDraft
from rpcapi.validation.rules import document, matching, one_of, text

VOLUME = "_vol{}"
_VOLUME_OPTIONS = document(
    {
        "size": matching("[1-9][0-9]{0,11}", "an integer of at least 1 (GiB)"),
        "pool": text,
        "boot": one_of(("true", "false")),
    }
)
PORT = "_port{}"
AMOUNTS = {"egress_kbps": orc.NET_BW_EGR_KILOBIT_PER_SEC, "ingress_kbps": orc.NET_BW_IGR_KILOBIT_PER_SEC}
KEYS = (*AMOUNTS, "physnet", "vnic", "segment")
_PORT_OPTIONS = document(
    {**dict.fromkeys(KEYS, text), **dict.fromkeys(AMOUNTS, matching("[0-9]{1,12}", "an amount in kbps"))}
)


@dataclass(frozen=True, slots=True)
class Volume:
    """New volume of ``size_gb`` GiB in ``pool`` (None: any), or an existing one; ``boot``: the root disk."""

    size_gb: int | None
    pool: str | None = None
    boot: bool = False


def read_volume(texts: Mapping[str, str]) -> Volume:
    _VOLUME_OPTIONS("volume", texts)
    if "size" not in texts and "pool" not in texts:
        raise errors.InvalidSpec(why="a volume needs size, pool or both")
    return Volume(int(texts["size"]) if "size" in texts else None, texts.get("pool"), texts.get("boot") == "true")


def translate_volumes(volumes: Sequence[Volume], draft: SpecDraft) -> list[dict[str, Any]]:
    """Add a group per new volume; return RequestSpec.volumes. Raises InvalidSpec for a second root disk."""
    if sum(volume.boot for volume in volumes) > 1:
        raise errors.InvalidSpec(why="at most one volume may have boot=true")
    spec_volumes: list[dict[str, Any]] = []
    for number, volume in enumerate(volumes):
        boot = {"boot": True} if volume.boot else {}
        if volume.size_gb is None:
            spec_volumes.append({"pool": volume.pool, **boot})
            continue
        group = VOLUME.format(number)
        shared = (os_traits.MISC_SHARES_VIA_AGGREGATE,)
        draft.add_group(RequestGroup(group, {orc.DISK_GB: volume.size_gb}, shared, in_tree=volume.pool))
        spec_volumes.append({"size_gb": volume.size_gb, "group": group, **boot})
    return spec_volumes


@dataclass(frozen=True, slots=True)
class Port:
    bandwidth: Mapping[str, int]
    physnet: str | None = None
    vnic: str | None = None
    segment: str | None = None


def read_port(texts: Mapping[str, str]) -> Port:
    _PORT_OPTIONS("port", texts)
    if not texts:
        raise errors.InvalidSpec(why=f"a port needs at least one option of {', '.join(KEYS)}")
    amounts = {resource_class: int(texts.get(key, 0)) for key, resource_class in AMOUNTS.items()}
    bandwidth = {resource_class: amount for resource_class, amount in amounts.items() if amount}
    if "vnic" in texts and not bandwidth:
        raise errors.InvalidSpec(why="vnic of a port needs egress_kbps or ingress_kbps")
    return Port(bandwidth, texts.get("physnet"), texts.get("vnic"), texts.get("segment"))


def translate_ports(ports: Sequence[Port], draft: SpecDraft) -> list[dict[str, Any]]:
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
