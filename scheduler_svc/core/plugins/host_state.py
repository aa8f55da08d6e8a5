# SPDX-License-Identifier: Apache-2.0
"""The host_state object of Nova-style plugins, which reads the columns on access."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from os_resource_classes import DISK_GB, MEMORY_MB, PCPU, VCPU

from rpcapi.resources import names
from scheduler_svc.core.reads import Reads
from scheduler_svc.core.table.columns import IntColumn
from scheduler_svc.core.table.read_errors import METRIC_PREFIX
from scheduler_svc.core.table.view import View

MIB = 1024  # MiB per GiB
# What all plugins may read; other metrics only if the plugin's reads name them.
READS: Reads = {
    "compute": frozenset(
        {"inventories", "used", "traits", "availability_zone", "facts", "host_ip"}
        | {f"{METRIC_PREFIX}{name}" for name in ("instances", "io_ops", "failed_builds")}
    ),
    "service": frozenset({"alive", "enabled"}),
    "aggregate": frozenset({"name", "hosts", "metadata"}),
}


@dataclass(frozen=True, slots=True)
class HostAggregate:
    """An aggregate of a host."""

    name: str
    metadata: Mapping[str, str]


class PluginHostState:
    """A row of the view with the attributes of Nova's HostState; valid only during the plugin call.

    Unlike in Nova, amounts are claimable amounts: capacities include the allocation ratio and exclude the reserved
    part, so each ratio is 1.0. Attributes of Nova's HostState without a value in gantt are not defined.
    """

    ram_allocation_ratio = cpu_allocation_ratio = disk_allocation_ratio = 1.0

    def __init__(self, view: View, row: int, reads: Reads) -> None:
        self._view = view
        self._row = row
        self._reads = reads
        name = view.name(row)
        self.name = name
        self.host = names.host_of(name)
        self.nodename = self.hypervisor_hostname = name.partition(names.SEPARATOR)[2] or name

    def __repr__(self) -> str:
        return f"PluginHostState({self.name!r})"

    def free(self, resource_class: str) -> int:
        """Return the free capacity of a class at the root provider; negative if usage exceeds the capacity."""
        return int(self._view.hosts.free(resource_class)[self._row])

    def capacity(self, resource_class: str) -> int:
        """Return the capacity of a class at the root provider."""
        column: IntColumn = self._view.hosts.capacity(resource_class)
        return int(column[self._row])

    def used(self, resource_class: str) -> int:
        """Return the usage of a class at the root provider."""
        return self.capacity(resource_class) - self.free(resource_class)

    @property
    def free_ram_mb(self) -> int:
        """Return the free memory in MiB."""
        return self.free(MEMORY_MB)

    @property
    def total_usable_ram_mb(self) -> int:
        """Return the memory capacity in MiB."""
        return self.capacity(MEMORY_MB)

    @property
    def free_disk_mb(self) -> int:
        """Return the free disk in MiB."""
        return MIB * self.free(DISK_GB)

    @property
    def total_usable_disk_gb(self) -> int:
        """Return the disk capacity in GiB."""
        return self.capacity(DISK_GB)

    @property
    def disk_mb_used(self) -> int:
        """Return the used disk in MiB."""
        return MIB * self.used(DISK_GB)

    @property
    def vcpus_total(self) -> int:
        """Return the capacity of CPUs, shared and dedicated."""
        return self.capacity(VCPU) + self.capacity(PCPU)

    @property
    def vcpus_used(self) -> int:
        """Return the number of used CPUs, shared and dedicated."""
        return self.used(VCPU) + self.used(PCPU)

    @property
    def num_instances(self) -> int:
        """Return the metric ``instances``, 0 if it is not reported."""
        return int(self.metrics.get("instances", 0))

    @property
    def num_io_ops(self) -> int:
        """Return the metric ``io_ops``, as above."""
        return int(self.metrics.get("io_ops", 0))

    @property
    def failed_builds(self) -> int:
        """Return the metric ``failed_builds``, as above."""
        return int(self.metrics.get("failed_builds", 0))

    @property
    def metrics(self) -> dict[str, float]:
        """Return the reported metrics that are in the plugin's reads."""
        keys = (key for key in self._reads.get("compute", ()) if key.startswith(METRIC_PREFIX))
        values = {key.removeprefix(METRIC_PREFIX): float(self._view.state("compute", key)[self._row]) for key in keys}
        return {name: value for name, value in values.items() if not math.isnan(value)}

    @property
    def traits(self) -> set[str]:
        """Return the traits of the root provider."""
        return self._view.hosts.traits_of(self._row)

    @property
    def aggregates(self) -> list[HostAggregate]:
        """Return the aggregates of the host."""
        aggregates = self._view.aggregates
        return [HostAggregate(name, dict(aggregates.metadata(name))) for name in sorted(aggregates.of_row(self._row))]

    @property
    def availability_zone(self) -> str | None:
        """Return the availability zone of the host's aggregates, else the one it reported."""
        return self._view.zone(self._row)

    @property
    def service(self) -> dict[str, bool]:
        """Return {"disabled", "up"} of the service host."""
        return {
            "disabled": not self._view.services.enabled[self._row],
            "up": bool(self._view.services.alive[self._row]),
        }

    @property
    def host_ip(self) -> str | None:
        """Return the host's address."""
        return self._view.addresses.of(self._row)

    @property
    def facts(self) -> dict[str, Any]:
        """Return the host's facts."""
        return dict(self._view.facts.of(self._row))

    @property
    def hypervisor_type(self) -> str | None:
        """Return the fact of this name."""
        return self.facts.get("hypervisor_type")

    @property
    def hypervisor_version(self) -> int | None:
        """Return the fact of this name."""
        return self.facts.get("hypervisor_version")

    @property
    def cpu_info(self) -> Any:
        """Return the fact of this name."""
        return self.facts.get("cpu_info")

    @property
    def supported_instances(self) -> Any:
        """Return the fact of this name."""
        return self.facts.get("supported_instances")
