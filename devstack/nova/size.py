# SPDX-License-Identifier: Apache-2.0
"""Size of a Nova cloud, and the project that serves each role."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class CloudSize:
    """Number and capacity of computes, projects of the roles in `roles.ROLES`, and settings of gantt's services.

    Attributes:
        schedulers: Number of workers.
        durability: appendfsync of the store.
        build_timeout, bridge_max_age: Seconds.
        second_cell: Number of computes in a second cell; 0 means no second cell.
        nova_options: {section: further options of nova.conf} on all hosts, which gantt-nova-config translates for
            gantt-scheduler.
    """

    computes: int = 4
    vcpus: int = 16
    memory_mb: int = 32768
    disk_gb: int = 400
    placement: str = "gantt"
    scheduler: str = "nova"
    schedulers: int = 1
    durability: Literal["everysec", "always"] = "everysec"
    build_timeout: int = 1800
    bridge_max_age: int = 300
    second_cell: int = 0
    nova_options: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def hosts(self) -> list[str]:
        return [*(f"host{number}" for number in range(1, self.computes + 1)), *self.second_hosts]

    @property
    def second_hosts(self) -> list[str]:
        return [f"remote{number}" for number in range(1, self.second_cell + 1)]
