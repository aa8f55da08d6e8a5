# SPDX-License-Identifier: Apache-2.0
"""One host as Nova's filters and weighers know it, read from the columns only where it is asked for."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from os_resource_classes import DISK_GB, MEMORY_MB, PCPU, VCPU

from rpcapi.model import names
from scheduler_svc.reads import Reads
from scheduler_svc.table.aggregates import ZONE
from scheduler_svc.table.columns import IntColumn
from scheduler_svc.table.states import METRICS
from scheduler_svc.table.view import View

MIB = 1024  # of a GiB
# What all of them may look at; of other metrics only those that the plugin names.
READS: Reads = {
    "compute": frozenset(
        {"inventories", "used", "traits", "availability_zone", "facts", "host_ip"}
        | {f"{METRICS}{name}" for name in ("instances", "io_ops", "failed_builds")}
    ),
    "service": frozenset({"alive", "enabled"}),
    "aggregate": frozenset({"name", "hosts", "metadata"}),
}


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate that a host is in."""

    name: str
    metadata: Mapping[str, str]


class HostState:
    """A row of the view; valid while the plugin is asked, not to be kept.

    As in Nova, except that amounts count what may be claimed: a capacity has the allocation ratio in it and the
    reserved part taken off, so that each ratio is 1.0 here. An attribute of Nova's that gantt has no figure for is not
    there.
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
        return f"HostState({self.name!r})"

    def free(self, resource_class: str) -> int:
        """Return how much of a class can still be claimed at the root; below 0 where it is over."""
        return int(self._view.free(resource_class)[self._row])

    def capacity(self, resource_class: str) -> int:
        """Return how much of a class there is at the root."""
        column: IntColumn = self._view.capacity(resource_class)
        return int(column[self._row])

    def used(self, resource_class: str) -> int:
        """Return how much of a class is claimed at the root."""
        return self.capacity(resource_class) - self.free(resource_class)

    @property
    def free_ram_mb(self) -> int:
        """Return the memory that can still be claimed, in MiB."""
        return self.free(MEMORY_MB)

    @property
    def total_usable_ram_mb(self) -> int:
        """Return all memory that may be claimed, in MiB."""
        return self.capacity(MEMORY_MB)

    @property
    def free_disk_mb(self) -> int:
        """Return the disk that can still be claimed, in MiB."""
        return MIB * self.free(DISK_GB)

    @property
    def total_usable_disk_gb(self) -> int:
        """Return all disk that may be claimed, in GiB."""
        return self.capacity(DISK_GB)

    @property
    def disk_mb_used(self) -> int:
        """Return the disk that is claimed, in MiB."""
        return MIB * self.used(DISK_GB)

    @property
    def vcpus_total(self) -> int:
        """Return how many processors may be claimed, shared and dedicated ones."""
        return self.capacity(VCPU) + self.capacity(PCPU)

    @property
    def vcpus_used(self) -> int:
        """Return how many processors are claimed."""
        return self.used(VCPU) + self.used(PCPU)

    @property
    def num_instances(self) -> int:
        """Return the metric ``instances``, 0 where it is not reported."""
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
        """Return those metrics that the plugin's reads name and the host reported."""
        keys = (key for key in self._reads.get("compute", ()) if key.startswith(METRICS))
        found = {key.removeprefix(METRICS): float(self._view.state("compute", key)[self._row]) for key in keys}
        return {name: value for name, value in found.items() if not math.isnan(value)}

    @property
    def traits(self) -> set[str]:
        """Return the traits of the root."""
        return self._view.traits(self._row)

    @property
    def aggregates(self) -> list[Aggregate]:
        """Return the aggregates that the host is in."""
        seen = self._view.aggregates
        return [Aggregate(name, dict(seen.metadata(name))) for name in sorted(seen.of_row(self._row))]

    @property
    def availability_zone(self) -> str | None:
        """Return the zone: that of the host's aggregates, else the one it reported."""
        zones = [each.metadata[ZONE] for each in self.aggregates if ZONE in each.metadata]
        return zones[0] if zones else self._view.zone(self._row)

    @property
    def service(self) -> dict[str, bool]:
        """Return {"disabled", "up"} of the service host."""
        return {"disabled": not self._view.enabled[self._row], "up": bool(self._view.alive[self._row])}

    @property
    def host_ip(self) -> str | None:
        """Return the host's address."""
        return self._view.address(self._row)

    @property
    def facts(self) -> dict[str, Any]:
        """Return what the host reported of itself that seldom changes."""
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
