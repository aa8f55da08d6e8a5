# SPDX-License-Identifier: Apache-2.0
"""Random requests and settings for the clouds of wire_clouds, as the fields of Nova's objects."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.differential.wire_clouds import Cloud, new_uuid

IMAGES = tuple(f"00000000-0000-4000-8000-00000000000{number}" for number in range(1, 4))
DEFAULT_FILTERS = (
    *("ComputeFilter", "ComputeCapabilitiesFilter", "ImagePropertiesFilter"),
    *("ServerGroupAntiAffinityFilter", "ServerGroupAffinityFilter"),
)
OTHER_FILTERS = (
    *("AggregateImagePropertiesIsolation", "AggregateInstanceExtraSpecsFilter", "AggregateIoOpsFilter"),
    *("AggregateMultiTenancyIsolation", "AggregateNumInstancesFilter", "AggregateTypeAffinityFilter"),
    *("DifferentHostFilter", "SameHostFilter", "SimpleCIDRAffinityFilter", "IoOpsFilter", "IsolatedHostsFilter"),
    *("JsonFilter", "NumInstancesFilter", "MetricsFilter"),
)
MULTIPLIERS = {
    "ram_weight_multiplier": (1.0, 2.0, -1.0),
    "cpu_weight_multiplier": (1.0, 0.0, 3.0),
    "disk_weight_multiplier": (1.0, -2.0),
    "hypervisor_version_weight_multiplier": (1.0, 0.0),
    "num_instances_weight_multiplier": (0.0, -1.0),
    "io_ops_weight_multiplier": (-1.0, 1.0),
    "soft_affinity_weight_multiplier": (1.0, 5.0),
    "soft_anti_affinity_weight_multiplier": (1.0, 5.0),
    "build_failure_weight_multiplier": (1_000_000.0, 0.0),
    "cross_cell_move_weight_multiplier": (1_000_000.0, 0.0),
    "pci_weight_multiplier": (1.0, 0.0, 3.0),
}
METRIC_WEIGHTS = ([], ["cpu.percent=-1.0"], ["cpu.idle.percent=0.5", "cpu.frequency=0.01"], ["cpu.frequency=-1"])
SWITCHES = (
    *("limit_tenants_to_placement_aggregate", "placement_aggregate_required_for_tenants"),
    *("enable_isolated_aggregate_filtering", "query_placement_for_image_type_support", "image_metadata_prefilter"),
)
EXTRA_SPECS = {
    "capabilities:hypervisor_type": ("QEMU", "s== QEMU", "<or> QEMU <or> Xen"),
    "capabilities:cpu_info:model": ("a", "s!= a"),
    "capabilities:rack": ("a", "b"),
    "capabilities:free_ram_mb": (">= 4096",),
    "aggregate_instance_extra_specs:ssd": ("1", "a", "<or> 1 <or> 2"),
    "trait:CUSTOM_A": ("required", "forbidden"),
    "trait:CUSTOM_B": ("required", "forbidden"),
    "resources:VCPU": ("1",),
}
PROPERTIES = {
    "hw_architecture": ("x86_64", "aarch64", "i686"),
    "img_hv_type": ("kvm", "xen"),
    "os_type": ("linux", "windows"),
    "hw_disk_bus": ("virtio", "scsi"),
    "img_hv_requested_version": (">=7.0",),
}
TPM = {"hw:tpm_version": "2.0", "hw:tpm_model": "tpm-crb"}
DEDICATED = {"hw:cpu_policy": "dedicated"}
# What Nova's prefilters and its translation of processors read of flavors, and of images.
FLAVOR_DEVICES = (
    *({"hw:virtio_packed_ring": "true"}, {"hw:virtio_packed_ring": "false"}),
    *({"hw:ephemeral_encryption": "true"}, {"hw:ephemeral_encryption_format": "luks"}),
    {"hw:ephemeral_encryption": "true", "hw:ephemeral_encryption_format": "luks"},
    *({"hw:sound_model": "virtio"}, {"hw:sound_model": "usb"}),
    *(TPM, {**TPM, "hw:tpm_secret_security": "host"}, {**TPM, "hw:tpm_secret_security": "deployment"}),
    {"accel:device_profile": "fpga"},
    *(DEDICATED, DEDICATED, DEDICATED),
)
IMAGE_DEVICES = (
    *({"hw_virtio_packed_ring": "true"}, {"hw_sound_model": "virtio"}),
    {"hw_ephemeral_encryption": "true", "hw_ephemeral_encryption_format": "luks"},
    {"hw_tpm_version": "2.0", "hw_tpm_model": "tpm-tis"},
    {"hw_cpu_policy": "dedicated"},
)
POLICIES = ("affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity")
Kind = Callable[[random.Random, Cloud, dict[str, Any], list[str]], None]  # makes fields and uuids those of a kind
QUERIES = ([">=", "$free_ram_mb", 4096], ["=", "$hypervisor_type", "QEMU"], ["<", "$num_io_ops", 5])


def draw_settings(rng: random.Random, cloud: Cloud) -> dict[str, dict[str, Any]]:
    """Return options of nova.conf by group."""
    hosts = [service["host"] for service in cloud["services"]]
    filters = [*DEFAULT_FILTERS, *(name for name in OTHER_FILTERS if rng.random() < 0.6)]
    # Placement has dedicated processors of all computes or of none: the fallback is compared where there are none.
    has_dedicated = any("dedicated" in compute for compute in cloud["computes"])
    return {
        "workarounds": {"disable_fallback_pcpu_query": has_dedicated or rng.random() < 0.3},
        "metrics": {
            "weight_setting": rng.choice(METRIC_WEIGHTS),
            "weight_multiplier": rng.choice((1.0, 2.0)),
            "weight_of_unavailable": rng.choice((-10000.0, 30.0)),
            "required": "MetricsFilter" in filters,
        },
        "scheduler": {
            "max_attempts": rng.choice((12, 12, 12, 3, 2)),
            **{name: rng.random() < 0.12 for name in SWITCHES},
        },
        "filter_scheduler": {
            "enabled_filters": filters,
            "shuffle_best_same_weighed_hosts": False,
            "host_subset_size": 1,
            "isolated_images": rng.sample(IMAGES, rng.randint(0, 1)),
            "isolated_hosts": rng.sample(hosts, rng.randint(0, 1)),
            "restrict_isolated_hosts_to_isolated_images": rng.random() < 0.7,
            "max_instances_per_host": rng.choice((2, 50)),
            **{name: rng.choice(values) for name, values in MULTIPLIERS.items()},
        },
    }


def draw_request(rng: random.Random, cloud: Cloud, kinds: Mapping[str, Kind] | None = None) -> dict[str, Any]:
    """Return {"kind", "fields", "uuids"}: the last are those of the instances. ``kinds`` are KINDS by default.

    One that is evacuated holds something; what one that is resized holds must be its migration's.
    """
    uuids = [new_uuid(rng) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    fields: dict[str, Any] = {
        **dict.fromkeys(("numa_topology", "retry", "limits", "force_hosts", "force_nodes", "ignore_hosts")),
        "flavor": _flavor(rng),
        "properties": _some(rng, PROPERTIES, 0.15),
        "image_id": rng.choice(IMAGES),
        "project_id": rng.choice(("p1", "p2", "p3")),
        "user_id": "u1",
        "remote_managed": None,
        "availability_zone": _maybe(rng, 0.2, ("z1", "z2")),
        "scheduler_hints": {},
        "server_group": None,
        "num_instances": len(uuids),
        "is_bfv": rng.random() < 0.2,
    }
    _add_devices(rng, fields)
    kinds = KINDS if kinds is None else kinds
    kind = rng.choice(sorted(kinds))
    kinds[kind](rng, cloud, fields, uuids)
    return {"kind": kind, "fields": fields, "uuids": uuids}


def _add_devices(rng: random.Random, fields: dict[str, Any]) -> None:
    """Request devices by the flavor or by the image: where both do, they may contradict each other."""
    chance, extra_specs = rng.random(), fields["flavor"]["extra_specs"]
    if chance < 0.3:
        for device in rng.sample(FLAVOR_DEVICES, rng.choice((1, 1, 2))):
            extra_specs |= device
    elif chance < 0.4:
        fields["properties"] |= rng.choice(IMAGE_DEVICES)
    if "hw:cpu_policy" in extra_specs or "hw_cpu_policy" in fields["properties"]:
        extra_specs.pop("resources:VCPU", None)
    if rng.random() < 0.1:
        fields["remote_managed"] = rng.choice((True, False))


def _flavor(rng: random.Random) -> dict[str, Any]:
    name = rng.choice(("m1", "m2", "m3"))
    return {
        "name": name,
        "flavorid": name,
        "vcpus": rng.randint(1, 4),
        "memory_mb": rng.choice((256, 512, 2048)),
        "root_gb": rng.choice((0, 1, 5)),
        "ephemeral_gb": rng.choice((0, 1)),
        "swap": rng.choice((0, 0, 512)),
        "extra_specs": _some(rng, EXTRA_SPECS, 0.12),
    }


def _some(rng: random.Random, values: Mapping[str, Sequence[str]], chance: float) -> dict[str, str]:
    return {key: rng.choice(options) for key, options in values.items() if rng.random() < chance}


def _maybe(rng: random.Random, chance: float, values: Sequence[Any]) -> Any:
    return rng.choice(values) if rng.random() < chance else None


def _boot(rng: random.Random, cloud: Cloud, fields: dict[str, Any], uuids: list[str]) -> None:
    """Leave the request as it is."""


def _ignore(rng: random.Random, cloud: Cloud, fields: dict[str, Any], uuids: list[str]) -> None:
    hosts = list(cloud["instances"])
    names = rng.sample(hosts, rng.randint(1, len(hosts)))
    fields["ignore_hosts"] = [rng.choice((name, name.upper(), name)) for name in names]


def _force(rng: random.Random, cloud: Cloud, fields: dict[str, Any], uuids: list[str]) -> None:
    computes = rng.sample(cloud["computes"], rng.randint(1, min(2, len(cloud["computes"]))))
    if rng.random() < 0.7:
        fields["force_hosts"] = [compute["host"] for compute in computes]
    if not fields["force_hosts"] or rng.random() < 0.4:
        fields["force_nodes"] = [compute["node"] for compute in computes]
    if rng.random() < 0.2:
        fields["scheduler_hints"] = {"_nova_check_type": ["live-migrate"]}


def _destination(rng: random.Random, cloud: Cloud, fields: dict[str, Any], uuids: list[str]) -> None:
    compute = rng.choice(cloud["computes"])
    destination: dict[str, Any] = {"host": compute["host"]}
    if rng.random() < 0.6:
        destination["node"] = compute["node"]
    fields["destination"] = destination


def _aggregates(rng: random.Random, cloud: Cloud, fields: dict[str, Any], uuids: list[str]) -> None:
    names = [aggregate["uuid"] for aggregate in cloud["aggregates"]]
    destination: dict[str, Any] = {"aggregates": [",".join(rng.sample(names, min(2, len(names))))]}
    if rng.random() < 0.4:
        destination["forbidden_aggregates"] = [rng.choice(names)]
    fields["destination"] = destination


def _hints(rng: random.Random, cloud: Cloud, fields: dict[str, Any], uuids: list[str]) -> None:
    consumers = list(cloud["consumers"]) or [new_uuid(rng)]
    hints: dict[str, Any] = {}
    if rng.random() < 0.5:
        hints["same_host"] = rng.sample(consumers, 1)
    if rng.random() < 0.5:
        hints["different_host"] = rng.sample(consumers, min(2, len(consumers)))
    if rng.random() < 0.3:
        hints |= {"build_near_host_ip": ["10.0.0.7"], "cidr": [rng.choice(("/24", "/23", "/8"))]}
    if rng.random() < 0.3:
        hints["query"] = [json.dumps(rng.choice(QUERIES))]
        del uuids[1:]  # Nova evaluates it again for each further instance
        fields["num_instances"] = 1
    fields["scheduler_hints"] = hints


def _group(rng: random.Random, cloud: Cloud, fields: dict[str, Any], uuids: list[str]) -> None:
    policy = rng.choice(POLICIES)
    consumers = list(cloud["consumers"])
    members = rng.sample(consumers, rng.randint(0, len(consumers)))
    if policy == "affinity" and len(uuids) > 1 and members:
        # Several instances of a group on several hosts: Nova may spread them over these, gantt keeps them together.
        hosts = {cloud["consumers"][name]["host"] for name in members[:1]}
        members = [name for name in members if cloud["consumers"][name]["host"] in hosts]
    limit = rng.randint(1, 3)
    fields["server_group"] = {
        "uuid": new_uuid(rng),
        "policy": policy,
        "policies": [policy],
        "members": [*members, *uuids],
        "hosts": sorted({cloud["consumers"][name]["host"] for name in members if name not in uuids}),
        "rules": {"max_server_per_host": str(limit)} if policy == "anti-affinity" and limit > 1 else {},
    }


def _evacuate(rng: random.Random, cloud: Cloud, fields: dict[str, Any], uuids: list[str]) -> None:
    """Move an instance away from its host, of whose cell it may not leave."""
    if not cloud["consumers"]:
        return
    name = rng.choice(sorted(cloud["consumers"]))
    uuids[:] = [name]
    host = cloud["consumers"][name]["host"]
    if rng.random() < 0.3:
        _group(rng, cloud, fields, uuids)
    fields |= {"num_instances": 1, "ignore_hosts": [host], "destination": _cell_of(rng, cloud, host)}


def _resize(rng: random.Random, cloud: Cloud, fields: dict[str, Any], uuids: list[str]) -> None:
    """Move an instance, to its own host too if that is allowed, or to another cell."""
    _evacuate(rng, cloud, fields, uuids)
    if rng.random() < 0.5:
        fields["ignore_hosts"] = None


def _cell_of(rng: random.Random, cloud: Cloud, host: str) -> dict[str, Any]:
    return {"cell": cloud["cells"][cell_number(cloud, host)]["uuid"], "allow_cross_cell_move": rng.random() < 0.4}


def cell_number(cloud: Cloud, host: str) -> int:
    """Return the number of a service host's cell."""
    return next(int(service["cell"]) for service in cloud["services"] if service["host"] == host)


def _unshelve(rng: random.Random, cloud: Cloud, fields: dict[str, Any], uuids: list[str]) -> None:
    del uuids[1:]
    host = rng.choice(list(cloud["instances"]))
    fields |= {"num_instances": 1, "destination": _cell_of(rng, cloud, host)}
    if rng.random() < 0.4:
        _group(rng, cloud, fields, uuids)


def _rebuild(rng: random.Random, cloud: Cloud, fields: dict[str, Any], uuids: list[str]) -> None:
    """Check the host of an instance for another image."""
    if not cloud["consumers"]:
        return
    name = rng.choice(sorted(cloud["consumers"]))
    uuids[:] = [name]
    fields |= {
        "num_instances": 1,
        "force_hosts": [cloud["consumers"][name]["host"]],
        "force_nodes": [cloud["consumers"][name]["node"]],
        "scheduler_hints": {"_nova_check_type": ["rebuild"]},
    }


KINDS: Mapping[str, Kind] = {
    "boot": _boot,
    "ignore": _ignore,
    "force": _force,
    "destination": _destination,
    "aggregates": _aggregates,
    "hints": _hints,
    "group": _group,
    "evacuate": _evacuate,
    "resize": _resize,
    "unshelve": _unshelve,
    "rebuild": _rebuild,
}
