# SPDX-License-Identifier: Apache-2.0
"""Nova's FilterScheduler: its host manager, filters and weighers on host states that are built here.

service_down_time is a day: with its default, ComputeFilter would reject all hosts after a minute.
"""

import datetime
import logging
import os
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

os.environ["OS_NOVA_DISABLE_EVENTLET_PATCHING"] = "1"

import nova_request
from nova import context as nova_context
from nova import objects
from nova.conf import CONF
from nova.objects import fields
from nova.scheduler import host_manager
from nova_compute import compute_node
from peer_wire import serve, timed

CELL = str(uuid.UUID(int=1))
DAY_S = 86_400
FACTS = {
    "hypervisor_type": "QEMU",
    "hypervisor_version": 8_002_000,
    "cpu_info": {},
    "supported_instances": [(fields.Architecture.X86_64, fields.HVType.KVM, fields.VMMode.HVM)],
}


class DetachedHostManager(host_manager.HostManager):
    """Host manager that does not read its database at start."""

    def refresh_cells_caches(self) -> None:
        self.cells: dict[str, Any] = {}

    def _init_aggregates(self) -> None:
        """Read no aggregates, because the peer has none."""

    def _init_instance_info(self, computes_by_cell: Any = None) -> None:
        """Read no instances, because the default filters do not use them."""

    def _get_instance_info(self, context: Any, compute: Any) -> dict[str, Any]:
        return {}


class NovaFilterScheduler:
    """Host manager with hosts as Nova's objects, and requests that are used cyclically."""

    def __init__(self) -> None:
        CONF([], project="nova", default_config_files=[])
        CONF.set_override("service_down_time", DAY_S)
        logging.getLogger().setLevel(
            logging.WARNING
        )  # nova/weights.py formats its debug messages regardless of the level
        objects.register_all()
        self._manager = DetachedHostManager()
        self._context = nova_context.get_admin_context()

    def prepare(self, hosts: Sequence[Mapping[str, Any]], requests: Sequence[Mapping[str, int]]) -> dict[str, Any]:
        """Set hosts and requests; return the numbers of filters, weighers, hosts and passing hosts."""
        computes = [_compute(number, host) for number, host in enumerate(hosts)]
        self._computes = {CELL: computes}
        self._services = {compute.host: _service(compute.host) for compute in computes}
        self._specs = [_spec(request) for request in requests]
        self._states = self._build()
        passing = self._manager.get_filtered_hosts(self._states, self._specs[0])
        return {
            "filters": len(self._manager.enabled_filters),
            "weighers": len(self._manager.weighers),
            "hosts": len(self._states),
            "passed": len(passing),
        }

    def decide(self, first: int, count: int) -> list[float]:
        return timed(self._decide, first, count)

    def build(self, first: int, count: int) -> list[float]:
        """Time building host states from compute node records, which each request does."""
        return timed(lambda number: self._build(), first, count)

    def _decide(self, number: int) -> Any:
        spec = self._specs[number % len(self._specs)]
        passing = self._manager.get_filtered_hosts(self._states, spec)
        return self._manager.get_weighed_hosts(passing, spec)

    def _build(self) -> list[Any]:
        return list(self._manager._get_host_states(self._context, self._computes, self._services))


def _compute(number: int, host: Mapping[str, Any]) -> Any:
    return compute_node(
        **{name: host[name] for name in ("total", "used")},
        facts=FACTS,
        id=number + 1,
        uuid=str(uuid.UUID(int=number + 1)),
        host=f"host{number}",
        hypervisor_hostname=host["name"],
        host_ip="127.0.0.1",
        numa_topology=None,
        pci_device_pools=None,
        stats={"num_instances": "0", "io_workload": "0", "failed_builds": "0"},
        cpu_allocation_ratio=host["cpu_ratio"],
        updated_at=None,
        created_at=None,
        deleted_at=None,
        deleted=False,
        service_id=None,
        mapped=1,
    )


def _service(host: str) -> Any:
    now = datetime.datetime.now(datetime.UTC)
    return objects.Service(
        id=1,
        host=host,
        binary="nova-compute",
        topic="compute",
        report_count=1,
        disabled=False,
        disabled_reason=None,
        forced_down=False,
        last_seen_up=now,
        created_at=now,
        updated_at=now,
        deleted_at=None,
        deleted=False,
        uuid=str(uuid.uuid4()),
    )


def _spec(request: Mapping[str, int]) -> Any:
    size = {"vcpus": request["VCPU"], "memory_mb": request["MEMORY_MB"], "root_gb": request["DISK_GB"]}
    image = objects.ImageMeta(properties=objects.ImageMetaProps())
    return nova_request.spec(nova_request.flavor(**size), image)


if __name__ == "__main__":
    nova = NovaFilterScheduler()
    serve({"prepare": nova.prepare, "decide": nova.decide, "build": nova.build})
