# SPDX-License-Identifier: Apache-2.0
"""Nova's weighers on host states with only the fields that weighers read.

ImagePropertiesWeigher gets the instances of a host and their images directly instead of from Nova's databases.
"""

import contextlib
import logging
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from unittest import mock

os.environ["OS_NOVA_DISABLE_EVENTLET_PATCHING"] = "1"

from nova import context as nova_context
from nova import objects
from nova.conf import CONF
from nova.scheduler import host_manager, weights
from peer_wire import serve

CELLS = {name: str(uuid.UUID(int=number)) for number, name in enumerate(("east", "west"), 1)}
METRICS = ("cpu.percent", "cpu.user.percent")
MIB_PER_GIB = 1024


class FakeInstanceList:
    """Replacement for objects.InstanceList with the metadata already loaded."""

    def __init__(self, context: Any, objects: Any) -> None:
        self._instances = [instance for instance in objects if instance.image_meta is not None]

    def fill_metadata(self) -> None:
        """Do nothing: the metadata is already loaded."""

    def __iter__(self) -> Iterator[Any]:
        return iter(self._instances)


class FakeInstance:
    """An instance with its image; the image is None for one that only counts as a group member."""

    def __init__(self, image_meta: Any) -> None:
        self.image_meta = image_meta


def weigh(cloud: Mapping[str, Any], options: Mapping[str, str]) -> dict[str, Any]:
    """Return the scores of each weigher, and of all together ("all"): {weigher: {host: score}}."""
    states = [_state(host, cloud["aggregates"]) for host in cloud["hosts"]]
    spec = _spec(cloud)
    with _configured(cloud, options), _images():
        handler = weights.HostWeightHandler()
        weighers = [weigher() for weigher in weights.all_weighers()]
        scores = {type(weigher).__name__: _scores(handler, [weigher], states, spec) for weigher in weighers}
        scores["all"] = _scores(handler, weighers, states, spec)
    return scores


def _scores(handler: Any, weighers: Sequence[Any], states: Sequence[Any], spec: Any) -> dict[str, float]:
    return {
        weighed_host.obj.host: float(weighed_host.weight)
        for weighed_host in handler.get_weighed_objects(weighers, states, spec)
    }


@contextlib.contextmanager
def _configured(cloud: Mapping[str, Any], options: Mapping[str, str]) -> Iterator[None]:
    for name, option in options.items():
        CONF.set_override(option, cloud["multipliers"][name], group="filter_scheduler")
    CONF.set_override("weight_multiplier", cloud["multipliers"]["MetricsWeigher"], group="metrics")
    CONF.set_override("weight_setting", _pairs(cloud["metrics"]), group="metrics")
    CONF.set_override("required", False, group="metrics")
    CONF.set_override("weight_of_unavailable", -100.0, group="metrics")
    CONF.set_override("image_props_weight_setting", _pairs(cloud["properties"]), group="filter_scheduler")
    yield


@contextlib.contextmanager
def _images() -> Iterator[None]:
    with (
        mock.patch.object(objects.CellMapping, "get_by_uuid", lambda context, cell_uuid: cell_uuid),
        mock.patch.object(nova_context, "target_cell", lambda context, cell: contextlib.nullcontext(context)),
        mock.patch.object(objects, "InstanceList", FakeInstanceList),
    ):
        yield


def _pairs(ratios: Mapping[str, float]) -> list[str]:
    return [f"{name}={ratio}" for name, ratio in ratios.items()]


def _state(host: Mapping[str, Any], aggregates: Sequence[Mapping[str, Any]]) -> Any:
    state = host_manager.HostState(host["name"], host["name"], CELLS[host["partition"]])
    total, used, metrics = host["total"], host["used"], host["metrics"]
    state.vcpus_total, state.vcpus_used, state.cpu_allocation_ratio = total["VCPU"], used["VCPU"], 1.0
    state.free_ram_mb = total["MEMORY_MB"] - used["MEMORY_MB"]
    state.free_disk_mb = (total["DISK_GB"] - used["DISK_GB"]) * MIB_PER_GIB
    state.num_instances, state.num_io_ops = metrics["instances"], metrics["io_ops"]
    state.failed_builds = metrics["failed_builds"]
    state.hypervisor_version = host["facts"].get("hypervisor_version")
    state.metrics = [objects.MonitorMetric(name=name, value=metrics[name]) for name in METRICS if name in metrics]
    state.pci_stats = mock.Mock(pools=[{"count": host["devices"]}] if host["devices"] else [])
    state.aggregates = [
        objects.Aggregate(metadata=aggregate["metadata"])
        for aggregate in aggregates
        if host["name"] in aggregate["hosts"]
    ]
    members = [_member(host["name"], number) for number in range(host["members"])]
    state.instances = dict.fromkeys(members, FakeInstance(None))
    state.instances |= {str(uuid.uuid4()): FakeInstance(_image(image)) for image in host["images"]}
    return state


def _member(host: str, number: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{number}.{host}"))


def _image(properties: Mapping[str, str]) -> Any:
    return objects.ImageMeta(properties=objects.ImageMetaProps.from_dict(properties))


def _spec(cloud: Mapping[str, Any]) -> Any:
    request = cloud["request"]
    group = None
    if request["policy"] is not None:
        members = [_member(host["name"], number) for host in cloud["hosts"] for number in range(host["members"])]
        group = objects.InstanceGroup(policy=request["policy"], policies=[request["policy"]], members=members)
    destination = None
    if request["source"] is not None:
        cell = objects.CellMapping(uuid=CELLS[request["source"]])
        destination = objects.Destination(cell=cell, allow_cross_cell_move=True)
    return objects.RequestSpec(instance_group=group, requested_destination=destination, image=_image(request["image"]))


def main() -> None:
    """Serve until the input ends."""
    CONF([], project="nova", default_config_files=[])
    logging.getLogger().setLevel(logging.ERROR)  # hide warnings about aggregate values that are not numbers
    objects.register_all()
    serve({"weigh": weigh})


if __name__ == "__main__":
    main()
