# SPDX-License-Identifier: Apache-2.0
"""Devices below the compute nodes of wire_clouds, and requests with groups for them.

The trees are those of Neutron's ports: an agent below the compute node that limits packets, and network cards below
the agent that limit bandwidth. No group is without resources: Nova's query for one is malformed.
"""

import random
from collections.abc import Iterator, Mapping
from typing import Any

from tests.differential.wire_clouds import Call, Cloud, new_uuid

BANDWIDTH = "NET_BW_EGR_KILOBIT_PER_SEC"
PACKETS = "NET_PACKET_RATE_KILOPACKET_PER_SEC"
NETWORKS = ("CUSTOM_PHYSNET_A", "CUSTOM_PHYSNET_B")
AGENT = "CUSTOM_AGENT"
AMOUNTS = (1, 2, 5)


def draw_devices(rng: random.Random, cloud: Cloud) -> list[dict[str, Any]]:
    """Return the providers of devices, parents first."""
    return [device for compute in cloud["computes"] for device in _devices_of(rng, compute)]


def _devices_of(rng: random.Random, compute: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for number in range(rng.choice((0, 1, 2, 2))):
        agent = _device(rng, f"{compute['node']}:agent{number}", compute["uuid"], PACKETS, [AGENT])
        yield agent
        for card in range(rng.randint(1, 3)):
            traits = rng.sample(NETWORKS, rng.choice((1, 1, 2)))
            yield _device(rng, f"{agent['name']}:eth{card}", agent["uuid"], BANDWIDTH, traits)


def _device(rng: random.Random, name: str, parent: str, resource: str, traits: list[str]) -> dict[str, Any]:
    inventory = {"total": rng.choice((1, 10, 40)), "step_size": rng.choice((1, 1, 1, 1, 1, 2))}
    return {
        "uuid": new_uuid(rng),
        "name": name,
        "parent": parent,
        "inventories": {resource: inventory},
        "traits": traits,
    }


def placement_calls(devices: list[dict[str, Any]]) -> Iterator[Call]:
    """Yield the requests to Placement that create the devices."""
    for name in (*NETWORKS, AGENT):
        yield "PUT", f"/traits/{name}", None
    for device in devices:
        names = {"name": device["name"], "uuid": device["uuid"], "parent_provider_uuid": device["parent"]}
        yield "POST", "/resource_providers", names
        provider = f"/resource_providers/{device['uuid']}"
        inventories = {"resource_provider_generation": 0, "inventories": device["inventories"]}
        yield "PUT", f"{provider}/inventories", inventories
        yield "PUT", f"{provider}/traits", {"resource_provider_generation": 1, "traits": device["traits"]}


def removal_calls(devices: list[dict[str, Any]]) -> Iterator[Call]:
    """Yield the requests to Placement that remove the devices, children first."""
    for device in reversed(devices):
        yield "DELETE", f"/resource_providers/{device['uuid']}", None


def _ports(rng: random.Random, cloud: Cloud, fields: dict[str, Any], uuids: list[str]) -> None:
    """Request the groups of ports: bandwidth alone, or with packets of the agent above the same card."""
    subtrees = []
    groups = []
    for _ in range(rng.choice((1, 1, 2))):
        own = [_group(rng, BANDWIDTH, [rng.choice(NETWORKS)] if rng.random() < 0.5 else [])]
        if rng.random() < 0.5:
            own.append(_group(rng, PACKETS, [AGENT] if rng.random() < 0.3 else []))
            subtrees.append([group["requester_id"] for group in own])
        groups += own
    if rng.random() < 0.2:
        groups[0]["forbidden_traits"] = [rng.choice(NETWORKS)]
        groups[0]["required_traits"] = []
    if rng.random() < 0.1:
        groups[0]["in_tree"] = rng.choice(cloud["computes"])["uuid"]
    fields["groups"] = groups
    fields["params"] = {"same_subtree": subtrees, **_root_traits(rng)}
    if rng.random() < 0.5:
        fields["flavor"]["extra_specs"]["group_policy"] = rng.choice(("none", "isolate"))


def _group(rng: random.Random, resource: str, traits: list[str]) -> dict[str, Any]:
    return {
        "requester_id": new_uuid(rng),
        "use_same_provider": True,
        "resources": {resource: rng.choice(AMOUNTS)},
        "required_traits": traits,
    }


def _root_traits(rng: random.Random) -> dict[str, list[str]]:
    key = rng.choice(("root_required", "root_forbidden"))
    return {key: [rng.choice(("CUSTOM_A", "CUSTOM_B"))]} if rng.random() < 0.15 else {}


def _numbered(rng: random.Random, cloud: Cloud, fields: dict[str, Any], uuids: list[str]) -> None:
    """Request numbered groups by the flavor."""
    extra_specs = fields["flavor"]["extra_specs"]
    numbers = range(1, rng.randint(2, 3))
    for number in numbers:
        resource = rng.choice((BANDWIDTH, BANDWIDTH, PACKETS))
        extra_specs[f"resources{number}:{resource}"] = str(rng.choice(AMOUNTS))
        if resource == BANDWIDTH and rng.random() < 0.5:
            extra_specs[f"trait{number}:{rng.choice(NETWORKS)}"] = rng.choice(("required", "forbidden"))
    extra_specs["group_policy"] = rng.choice(("none", "none", "isolate"))


def _both(rng: random.Random, cloud: Cloud, fields: dict[str, Any], uuids: list[str]) -> None:
    _numbered(rng, cloud, fields, uuids)
    _ports(rng, cloud, fields, uuids)


KINDS = {"ports": _ports, "numbered groups": _numbered, "ports and numbered groups": _both}
