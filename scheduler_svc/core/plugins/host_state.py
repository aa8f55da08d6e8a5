# SPDX-License-Identifier: Apache-2.0
"""Arguments ``host_state``, which reads columns on access, and ``spec_obj`` of Nova-style plugins."""

import math
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from os_resource_classes import DISK_GB, MEMORY_MB, PCPU, VCPU

from rpcapi.resources import names
from scheduler_svc.core.reads import Reads
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import IntColumn
from scheduler_svc.core.table.read_errors import METRIC_PREFIX
from scheduler_svc.core.table.view import View

MIB = 1024  # MiB per GiB
# Keys that all plugins may read. A plugin must list other metrics in its reads.
READS: Reads = {
    "compute": frozenset(
        {"inventories", "used", "traits", "availability_zone", "facts", "host_ip"}
        | {f"{METRIC_PREFIX}{name}" for name in ("instances", "io_ops", "failed_builds")}
    ),
    "service": frozenset({"alive", "enabled"}),
    "aggregate": frozenset({"name", "hosts", "metadata"}),
}


class PluginHostState:
    """Row of the view with the attributes of Nova's HostState. Valid only during the plugin call.

    Unlike in Nova, amounts can be claimed as they are: capacities include the allocation ratio and exclude the reserved
    amount, so all ratios are 1.0. Attributes of HostState that gantt has no value for are undefined.
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
        """Return the free capacity at the root provider; negative if overcommitted."""
        return int(self._view.hosts.free(resource_class)[self._row])

    def capacity(self, resource_class: str) -> int:
        """Return the capacity at the root provider."""
        column: IntColumn = self._view.hosts.capacity(resource_class)
        return int(column[self._row])

    def used(self, resource_class: str) -> int:
        """Return the usage at the root provider."""
        return self.capacity(resource_class) - self.free(resource_class)

    @property
    def metrics(self) -> dict[str, float]:
        """Reported metrics in the plugin's reads."""
        keys = (key for key in self._reads.get("compute", ()) if key.startswith(METRIC_PREFIX))
        values = {key.removeprefix(METRIC_PREFIX): float(self._view.state("compute", key)[self._row]) for key in keys}
        return {name: value for name, value in values.items() if not math.isnan(value)}

    @property
    def aggregates(self) -> list[SimpleNamespace]:
        """Aggregates of the host, with attributes ``name`` and ``metadata``."""
        aggregates = self._view.aggregates
        return [
            SimpleNamespace(name=name, metadata=dict(aggregates.metadata(name)))
            for name in sorted(aggregates.of_row(self._row))
        ]

    @property
    def service(self) -> dict[str, bool]:
        """{"disabled", "up"} of the service host."""
        return {
            "disabled": not self._view.services.enabled[self._row],
            "up": bool(self._view.services.alive[self._row]),
        }

    @property
    def facts(self) -> dict[str, Any]:
        return dict(self._view.facts.of(self._row))

    def __getattr__(self, name: str) -> Any:
        """Compute the attributes of Nova's HostState on access: a plugin reads only few of them."""
        if name not in _ATTRIBUTES:
            raise AttributeError(f"the host state has no attribute {name!r}")
        return _ATTRIBUTES[name](self)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_ATTRIBUTES]


def _fact(name: str) -> Callable[[PluginHostState], Any]:
    return lambda host: host.facts.get(name)


def _count(metric: str) -> Callable[[PluginHostState], int]:
    return lambda host: int(host.metrics.get(metric, 0))


# Attributes computed on access. CPU counts include dedicated CPUs; metrics are 0 unless reported.
_ATTRIBUTES: Mapping[str, Callable[[PluginHostState], Any]] = {
    "free_ram_mb": lambda host: host.free(MEMORY_MB),
    "total_usable_ram_mb": lambda host: host.capacity(MEMORY_MB),
    "free_disk_mb": lambda host: MIB * host.free(DISK_GB),
    "total_usable_disk_gb": lambda host: host.capacity(DISK_GB),
    "disk_mb_used": lambda host: MIB * host.used(DISK_GB),
    "vcpus_total": lambda host: host.capacity(VCPU) + host.capacity(PCPU),
    "vcpus_used": lambda host: host.used(VCPU) + host.used(PCPU),
    "num_instances": _count("instances"),
    "num_io_ops": _count("io_ops"),
    "failed_builds": _count("failed_builds"),
    "traits": lambda host: host._view.hosts.traits_of(host._row),
    "availability_zone": lambda host: host._view.zone(host._row),
    "host_ip": lambda host: host._view.address(host._row),
    **{name: _fact(name) for name in ("hypervisor_type", "hypervisor_version", "cpu_info", "supported_instances")},
}


class PluginRequestSpec:
    """Subset of Nova's RequestSpec. ``num_instances`` is 1, because all instances are filtered at once."""

    num_instances = 1

    def __init__(self, request: SchedulingRequest) -> None:
        self.request = request
        self.request_id = request.id
        self.project_id = request.project
        self.user_id = request.user
        self.availability_zone = request.availability_zone
        self.force_hosts = list(request.force_hosts)
        self.ignore_hosts = list(request.ignore_hosts)
        self.scheduler_hints = dict(request.hints)
        self.flavor = SimpleNamespace(  # the requested resources as flavor attributes
            name=request.flavor,
            vcpus=request.resources.get(VCPU, 0) + request.resources.get(PCPU, 0),
            memory_mb=request.resources.get(MEMORY_MB, 0),
            root_gb=request.resources.get(DISK_GB, 0),
            ephemeral_gb=0,
            swap=0,
            extra_specs=request.extra_specs,
        )
        self.image = SimpleNamespace(id=request.image.get("id"), properties=request.image.get("properties", {}))

    def get_scheduler_hint(self, hint_name: str, default: Any = None) -> Any:
        """Return a hint, or ``default``. A list of length 1 is unwrapped."""
        if hint_name not in self.scheduler_hints:
            return default
        hint = self.scheduler_hints[hint_name]
        return hint[0] if isinstance(hint, list) and len(hint) == 1 else hint
