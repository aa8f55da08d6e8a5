# SPDX-License-Identifier: Apache-2.0
"""Size of a Nova cloud, and the project that serves each role."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class CloudSize:
    """Size of a cloud, the projects of the roles in `roles.ROLES`, and settings of gantt's services.

    ``second_cell`` is the number of computes in a second cell; 0 means no such cell. ``build_timeout`` and
    ``bridge_max_age`` are in seconds. ``nova_options`` are additional {section: options} of nova.conf on all hosts;
    gantt-nova-config translates them for gantt-scheduler.
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
