# SPDX-License-Identifier: Apache-2.0
"""The NUMA topology that a guest asks for, as RequestSpec.numa carries it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from rpcapi.model.numa.pinning import ThreadPolicy


class DevicePolicy(StrEnum):
    """Where a device must be beside the guest's cells; named as in Nova."""

    REQUIRED = "required"  # on one of the host cells that the guest has
    SOCKET = "socket"  # on a socket of these
    LEGACY = "legacy"  # on one of these, or on no cell at all
    PREFERRED = "preferred"  # anywhere


@dataclass(frozen=True, slots=True)
class GuestCell:
    """One cell of a guest: its CPUs that float, those that are pinned, and the request group that asks for it."""

    id: int
    group: str
    cpus: tuple[int, ...] = ()
    pcpus: tuple[int, ...] = ()
    memory_mb: int = 0


@dataclass(frozen=True, slots=True)
class Topology:
    """What a guest asks for beside amounts, as RequestSpec.numa has it; without cells: whatever comes.

    ``devices`` has the NUMA policy of each request group that asks for a device.
    """

    cells: tuple[GuestCell, ...] = ()
    cpu_policy: str = "shared"
    thread_policy: ThreadPolicy = ThreadPolicy.PREFER
    devices: Mapping[str, DevicePolicy] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> "Topology":
        """Read RequestSpec.numa, which was checked before; a CPU that is in both of a cell's lists is pinned."""
        cells = []
        for each in told.get("cells", ()):
            pcpus = tuple(each.get("pcpus", ()))
            cpus = tuple(cpu for cpu in each.get("cpus", ()) if cpu not in pcpus)
            cells.append(GuestCell(each["id"], each["group"], cpus, pcpus, each["memory_mb"]))
        return cls(
            tuple(cells),
            told.get("cpu_policy") or "shared",
            ThreadPolicy(told.get("thread_policy") or ThreadPolicy.PREFER),
            {group: DevicePolicy(policy) for group, policy in told.get("devices", {}).items()},
        )
