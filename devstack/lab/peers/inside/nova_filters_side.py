# SPDX-License-Identifier: Apache-2.0
"""Nova's filters in this process, each asked by itself about hosts and requests as tests/property/clouds.py makes them.

Counts become the statistics of a compute node, facts its fields, aggregates and instances Nova's own objects. The one
metric is told by a name that Nova knows.
"""

import datetime
import json
import os
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

os.environ["OS_NOVA_DISABLE_EVENTLET_PATCHING"] = "1"

import nova_request
from nova import objects
from nova.conf import CONF
from nova.scheduler import filters, host_manager
from peer_wire import serve

CELL = str(uuid.UUID(int=1))
METRIC = "cpu.percent"
SECONDS_DOWN = 86_400
NOW = datetime.datetime.now(datetime.UTC)


class Nova:
    """All of Nova's filters by name."""

    def __init__(self) -> None:
        CONF([], project="nova", default_config_files=[])
        CONF.set_override("service_down_time", SECONDS_DOWN)
        CONF.set_override("weight_setting", [f"{METRIC}=1"], group="metrics")
        objects.register_all()
        self._filters: dict[str, Any] = {}

    def prepare(self, isolated_images: Sequence[str], isolated_hosts: Sequence[str]) -> list[str]:
        """Take over the options, and tell which filters there are."""
        CONF.set_override("isolated_images", isolated_images, group="filter_scheduler")
        CONF.set_override("isolated_hosts", isolated_hosts, group="filter_scheduler")
        self._filters = {kind.__name__: kind() for kind in filters.all_filters()}
        return sorted(self._filters)

    def ask(self, cloud: Mapping[str, Any], asked: Mapping[str, Any], names: Sequence[str]) -> Mapping[str, Any]:
        """Return what each filter says of each host: whether it passes, or the error that it raises."""
        states = [_state(host, cloud["aggregates"]) for host in cloud["hosts"]]
        spec = _spec(cloud, asked)
        return {name: {state.host: self._said(name, state, spec) for state in states} for name in names}

    def _said(self, name: str, state: Any, spec: Any) -> bool | str:
        try:
            return bool(self._filters[name]._filter_one(state, spec))
        except Exception as why:  # what a filter raises is its answer
            return f"{type(why).__name__}: {why}"


def _state(host: Mapping[str, Any], aggregates: Sequence[Mapping[str, Any]]) -> Any:
    state = host_manager.HostState(host["name"], host["name"], CELL)
    mine = [
        objects.Aggregate(id=number, name=each["name"], hosts=each["hosts"], metadata=each["metadata"])
        for number, each in enumerate(aggregates, 1)
        if host["name"] in each["hosts"]
    ]
    service = {
        "disabled": not host["enabled"],
        "last_seen_up": NOW if host["up"] else NOW - datetime.timedelta(seconds=2 * SECONDS_DOWN),
    }
    instances = {each: objects.Instance(uuid=each) for each in host["instances"]}
    state.update(compute=_compute(host), service=service, aggregates=mine, inst_dict=instances)
    return state


def _compute(host: Mapping[str, Any]) -> Any:
    total, used, facts = host["total"], host["used"], host["facts"]
    counts = {"instances": "num_instances", "io_ops": "io_workload", "failed_builds": "failed_builds"}
    stats = {counts[name]: str(value) for name, value in host["metrics"].items() if name in counts}
    stats |= {key: facts[key] for key in ("rack",) if key in facts}
    heat = host["metrics"].get("heat")
    told = [{"name": METRIC, "value": heat, "timestamp": "2026-01-01T00:00:00", "source": "test"}]
    return objects.ComputeNode(
        id=1,
        uuid=str(uuid.uuid4()),
        host=host["name"],
        hypervisor_hostname=host["name"],
        vcpus=total["VCPU"],
        vcpus_used=used["VCPU"],
        memory_mb=total["MEMORY_MB"],
        memory_mb_used=used["MEMORY_MB"],
        free_ram_mb=total["MEMORY_MB"] - used["MEMORY_MB"],
        local_gb=total["DISK_GB"],
        local_gb_used=used["DISK_GB"],
        free_disk_gb=total["DISK_GB"] - used["DISK_GB"],
        disk_available_least=None,
        host_ip=host["host_ip"],
        hypervisor_type=facts["hypervisor_type"],
        hypervisor_version=facts["hypervisor_version"],
        cpu_info=json.dumps(facts["cpu_info"]),
        metrics=json.dumps([] if heat is None else told),
        numa_topology=None,
        pci_device_pools=None,
        stats=stats,
        supported_hv_specs=[
            objects.HVSpec(arch=arch, hv_type=kind, vm_mode=mode) for arch, kind, mode in facts["supported_instances"]
        ],
        cpu_allocation_ratio=1.0,
        ram_allocation_ratio=1.0,
        disk_allocation_ratio=1.0,
        updated_at=None,
        deleted=False,
    )


def _spec(cloud: Mapping[str, Any], asked: Mapping[str, Any]) -> Any:
    image = asked["image"]
    meta = objects.ImageMeta(properties=objects.ImageMetaProps.from_dict(image["properties"]))
    if image["id"] is not None:
        meta.id = image["id"]
    return nova_request.spec(
        nova_request.flavor(name=asked["flavor"], extra_specs=asked["extra_specs"]),
        meta,
        project_id=asked["project"],
        scheduler_hints={key: value if isinstance(value, list) else [value] for key, value in asked["hints"].items()},
        instance_group=_group(cloud, asked["group"]),
    )


def _group(cloud: Mapping[str, Any], told: Mapping[str, Any] | None) -> Any:
    if told is None:
        return None
    held = [host["name"] for host in cloud["hosts"] if set(host["instances"]) & set(told["members"])]
    group = objects.InstanceGroup(
        uuid=str(uuid.uuid4()),
        policy=told["policy"],
        policies=[told["policy"]],
        members=told["members"],
        hosts=held,
    )
    group._rules = {"max_server_per_host": str(told["most"])} if told["policy"] == "anti-affinity" else {}
    return group


if __name__ == "__main__":
    nova = Nova()
    serve({"prepare": nova.prepare, "ask": nova.ask})
