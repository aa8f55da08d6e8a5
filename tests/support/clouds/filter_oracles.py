# SPDX-License-Identifier: Apache-2.0
"""Oracles for Nova's filters: one function per filter on plain dictionaries (see clouds.py).

Each oracle returns whether the host passes.
"""

import ipaddress
import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tests.support.clouds.clouds import Cloud, Host, Request, members
from tests.support.clouds.query_oracle import attribute, evaluate

Oracle = Callable[[Cloud, Host, Request], bool]

LIMIT_IO, LIMIT_INSTANCES = 8, 50
ISOLATED_IMAGES, ISOLATED_HOSTS = ("00000000-0000-4000-8000-000000000000",), ("h0", "h3")


def aggregate_texts(cloud: Cloud, host: Host, key: str) -> list[str]:
    """Return the values of a metadata key in the host's aggregates."""
    host_aggregates = [aggregate for aggregate in cloud["aggregates"] if host["name"] in aggregate["hosts"]]
    return [aggregate["metadata"][key] for aggregate in host_aggregates if key in aggregate["metadata"]]


def split(texts: Iterable[str]) -> set[str]:
    return {part.strip() for text in texts for part in text.split(",")}


def number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


NUMBERS: dict[str, Callable[[float, float], bool]] = {
    "=": lambda have, bound: have >= bound,
    "==": lambda have, bound: have == bound,
    "!=": lambda have, bound: have != bound,
    ">=": lambda have, bound: have >= bound,
    "<=": lambda have, bound: have <= bound,
}
TEXTS: dict[str, Callable[[str, list[str]], bool]] = {
    "<or>": lambda value, rest: value in [word for index, word in enumerate(rest) if index % 2 == 0],
    "<in>": lambda value, rest: rest[0] in value,
    "<all-in>": lambda value, rest: all(word in value for word in rest),
    "s==": lambda value, rest: value == rest[0],
    "s!=": lambda value, rest: value != rest[0],
    "s<": lambda value, rest: value < rest[0],
    "s<=": lambda value, rest: value <= rest[0],
    "s>": lambda value, rest: value > rest[0],
    "s>=": lambda value, rest: value >= rest[0],
}


def matches_spec(value: str, condition: str) -> bool:
    """Return whether a value satisfies an extra spec."""
    words = condition.split()
    sign = words[0] if words else None
    if sign in NUMBERS:
        have, bound = number(value), number(words[1]) if len(words) > 1 else None
        return have is not None and bound is not None and NUMBERS[sign](have, bound)
    if sign in TEXTS:
        return len(words) > 1 and TEXTS[sign](value, words[1:])
    return value == condition


ATTRIBUTES = (
    *("vcpus_total", "vcpus_used", "total_usable_ram_mb", "free_ram_mb", "total_usable_disk_gb", "free_disk_mb"),
    *("disk_mb_used", "num_instances", "num_io_ops", "failed_builds", "host", "nodename", "hypervisor_hostname"),
    *("host_ip", "hypervisor_type", "hypervisor_version", "cpu_info", "supported_instances"),
)


def capability(host: Host, path: Sequence[str]) -> Any:
    if path[0] in ATTRIBUTES:
        value = attribute(host, path[0])
    elif path[0] == "stats":
        value = host["facts"]
    else:
        value = host["facts"].get(path[0])
    for key in path[1:]:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def compute_capabilities(cloud: Cloud, host: Host, request: Request) -> bool:
    specs = dict(request["extra_specs"])
    if "hw:maxphysaddr_bits" in specs:
        specs["capabilities:cpu_info:maxphysaddr:bits"] = ">= " + specs.pop("hw:maxphysaddr_bits")
    for spec, condition in specs.items():
        scope = spec.split(":")
        if len(scope) == 1:
            if spec not in ATTRIBUTES and spec not in host["facts"]:
                continue
            path = scope
        elif scope[0] != "capabilities":
            continue
        else:
            path = scope[1:]
        value = capability(host, path)
        if value is None:
            return False
        if not matches_spec(str(value), condition):
            return False
    return True


def image_properties(cloud: Cloud, host: Host, request: Request) -> bool:
    image, facts = request["image"]["properties"], host["facts"]
    older = {"i386": "i686", "amd64": "x86_64", "xapi": "xen", "hv": "hvm", "pv": "xen"}
    kinds = [image.get(key) for key in ("hw_architecture", "img_hv_type", "hw_vm_mode")]
    kinds = [older.get(kind, kind) for kind in kinds if kind]
    if not kinds:
        return True
    if not any(all(kind in entry for kind in kinds) for entry in facts["supported_instances"]):
        return False
    version = facts["hypervisor_version"]
    for condition in (image.get("img_hv_requested_version") or "").split(","):
        if condition and version and not version_is(version, condition):
            return False
    bits = facts["cpu_info"].get("maxphysaddr", {}).get("bits")
    return not (bits and image.get("hw_maxphysaddr_bits")) or bits >= image["hw_maxphysaddr_bits"]


def version_is(version: int, condition: str) -> bool:
    match = re.fullmatch(r"\s*(<=|>=|<|>|!=|==)\s*(\S+)\s*", condition)
    assert match is not None, condition
    sign, text = match.groups()
    bound = [int(part) for part in text.split(".")]
    have = [version // 1_000_000, version // 1000 % 1000, version % 1000]
    bound += [0] * (3 - len(bound))
    return {
        "<": have < bound,
        "<=": have <= bound,
        ">": have > bound,
        ">=": have >= bound,
        "==": have == bound,
        "!=": have != bound,
    }[sign]


def aggregate_image_properties(cloud: Cloud, host: Host, request: Request) -> bool:
    for key, value in request["image"]["properties"].items():
        texts = aggregate_texts(cloud, host, key)
        if value and texts and str(value) not in split(texts):
            return False
    return True


def aggregate_extra_specs(cloud: Cloud, host: Host, request: Request) -> bool:
    for spec, condition in request["extra_specs"].items():
        scope, colon, key = spec.partition(":")
        if colon and scope != "aggregate_instance_extra_specs":
            continue
        if not any(
            matches_spec(value, condition) for value in split(aggregate_texts(cloud, host, key if colon else spec))
        ):
            return False
    return True


def tenants(cloud: Cloud, host: Host, request: Request) -> bool:
    projects = split(
        aggregate_texts(cloud, host, "filter_tenant_id") + aggregate_texts(cloud, host, "filter_tenant_id_2")
    )
    return not projects or request["project"] in projects


def flavors(cloud: Cloud, host: Host, request: Request) -> bool:
    flavor_names = split(aggregate_texts(cloud, host, "instance_type"))
    return not flavor_names or request["flavor"] in flavor_names


def below(metric: str, limit: int) -> Oracle:
    return lambda cloud, host, request: host["metrics"].get(metric, 0) < limit


def below_by_aggregate(metric: str, key: str, limit: int) -> Oracle:
    def passes(cloud: Cloud, host: Host, request: Request) -> bool:
        try:
            bound = min((int(text) for text in aggregate_texts(cloud, host, key)), default=limit)
        except ValueError:
            bound = limit
        return host["metrics"].get(metric, 0) < bound

    return passes


def isolated(cloud: Cloud, host: Host, request: Request) -> bool:
    return (request["image"]["id"] in ISOLATED_IMAGES) == (host["name"] in ISOLATED_HOSTS)


def same_host(cloud: Cloud, host: Host, request: Request) -> bool:
    instances = request["hints"].get("same_host")
    return not instances or bool(set(instances) & set(host["instances"]))


def different_host(cloud: Cloud, host: Host, request: Request) -> bool:
    return not set(request["hints"].get("different_host", ())) & set(host["instances"])


def near(cloud: Cloud, host: Host, request: Request) -> bool:
    address = request["hints"].get("build_near_host_ip")
    if not address:
        return True
    length = int(request["hints"].get("cidr", "/24")[1:])
    drop = 32 - length
    return int(ipaddress.ip_address(host["host_ip"])) >> drop == int(ipaddress.ip_address(address)) >> drop


def affinity(cloud: Cloud, host: Host, request: Request) -> bool:
    group = request["group"]
    counts = members(cloud, group) if group and group["policy"] == "affinity" else {}
    return not counts or host["name"] in counts


def anti_affinity(cloud: Cloud, host: Host, request: Request) -> bool:
    group = request["group"]
    if not group or group["policy"] != "anti-affinity":
        return True
    return members(cloud, group).get(host["name"], 0) < group["most"]


def metrics(cloud: Cloud, host: Host, request: Request) -> bool:
    return "heat" in host["metrics"]


def query(cloud: Cloud, host: Host, request: Request) -> bool:
    text = request["hints"].get("query")
    return True if not text else evaluate(json.loads(text), host)


ORACLES: dict[str, Oracle] = {
    "AllHostsFilter": lambda cloud, host, request: True,
    "ComputeFilter": lambda cloud, host, request: host["up"] and host["enabled"],
    "ServerGroupAffinityFilter": affinity,
    "ServerGroupAntiAffinityFilter": anti_affinity,
    "AggregateImagePropertiesIsolation": aggregate_image_properties,
    "AggregateInstanceExtraSpecsFilter": aggregate_extra_specs,
    "AggregateIoOpsFilter": below_by_aggregate("io_ops", "max_io_ops_per_host", LIMIT_IO),
    "AggregateMultiTenancyIsolation": tenants,
    "AggregateNumInstancesFilter": below_by_aggregate("instances", "max_instances_per_host", LIMIT_INSTANCES),
    "AggregateTypeAffinityFilter": flavors,
    "ComputeCapabilitiesFilter": compute_capabilities,
    "DifferentHostFilter": different_host,
    "ImagePropertiesFilter": image_properties,
    "IoOpsFilter": below("io_ops", LIMIT_IO),
    "IsolatedHostsFilter": isolated,
    "JsonFilter": query,
    "MetricsFilter": metrics,
    "NumInstancesFilter": below("instances", LIMIT_INSTANCES),
    "SameHostFilter": same_host,
    "SimpleCIDRAffinityFilter": near,
}
