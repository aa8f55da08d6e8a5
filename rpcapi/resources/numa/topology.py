# SPDX-License-Identifier: Apache-2.0
"""Requested NUMA topology of a guest."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from rpcapi.resources.numa.pinning import ThreadPolicy


class DevicePolicy(StrEnum):
    REQUIRED = "required"  # on a host cell of the guest
    SOCKET = "socket"  # on the socket of a host cell of the guest
    LEGACY = "legacy"  # on a host cell of the guest, or on no cell
    PREFERRED = "preferred"  # anywhere


@dataclass(frozen=True, slots=True)
class GuestCell:
    id: int
    group: str
    cpus: tuple[int, ...] = ()
    pcpus: tuple[int, ...] = ()
    memory_mb: int = 0


@dataclass(frozen=True, slots=True)
class GuestTopology:
    """NUMA topology of a guest; without cells there are no requirements."""

    cells: tuple[GuestCell, ...] = ()
    cpu_policy: str = "shared"
    thread_policy: ThreadPolicy = ThreadPolicy.PREFER
    devices: Mapping[str, DevicePolicy] = field(default_factory=dict)  # {request group: policy}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "GuestTopology":
        """Build from a checked RequestSpec.numa. A CPU in both lists of a cell is pinned."""
        cells = []
        for cell in fields.get("cells", ()):
            pcpus = tuple(cell.get("pcpus", ()))
            cpus = tuple(cpu for cpu in cell.get("cpus", ()) if cpu not in pcpus)
            cells.append(GuestCell(cell["id"], cell["group"], cpus, pcpus, cell["memory_mb"]))
        return cls(
            tuple(cells),
            fields.get("cpu_policy") or "shared",
            ThreadPolicy(fields.get("thread_policy") or ThreadPolicy.PREFER),
            {group: DevicePolicy(policy) for group, policy in fields.get("devices", {}).items()},
        )
