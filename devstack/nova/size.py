# SPDX-License-Identifier: Apache-2.0
"""The size of a Nova cloud, and which project serves each role."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class CloudSize:
    """Number of computes, the capacity of each, who serves the roles of `roles.ROLES`, and what gantt's services need.

    ``schedulers``: number of workers. ``durability``: appendfsync of the store. ``build_timeout`` and
    ``bridge_max_age``: seconds.
    ``second_cell``: number of computes in a second cell, which there is only with some. ``nova_options``: further
    options of nova.conf on all hosts, by section; gantt-scheduler has what gantt-nova-config makes of them.
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
        """Names of the computes' hosts, of both cells."""
        return [*(f"host{number}" for number in range(1, self.computes + 1)), *self.second_hosts]

    @property
    def second_hosts(self) -> list[str]:
        """Names of the hosts in the second cell."""
        return [f"remote{number}" for number in range(1, self.second_cell + 1)]
