# SPDX-License-Identifier: Apache-2.0
"""Encoder of select_destinations' answers: primitives of Nova's Selection objects, version 1.1."""

import json
from collections.abc import Mapping
from typing import Any

from rpcapi.resources.trees.tree import AllocationCandidate
from scheduler_svc.core.provider_uuids import uuid_of
from scheduler_svc.nova.bus.hosts import NovaHost
from scheduler_svc.nova.bus.primitives import DATA, NAMESPACE, PREFIX

ALLOCATION_VERSION = "1.36"  # Placement microversion with which the conductor claims an alternate
LIMITS = ("numa_topology", "vcpu", "disk_gb", "memory_mb")

Primitive = Mapping[str, Any]


def to_primitive(host: NovaHost, allocation: AllocationCandidate | None, default_zone: str | None) -> Primitive:
    """Encode a host with an instance's allocation; None for a request that claims nothing."""
    return _object(
        "Selection",
        "1.1",
        {
            "compute_node_uuid": host.uuid,
            "service_host": host.service_host,
            "nodename": host.node,
            "cell_uuid": host.cell,
            "limits": _object("SchedulerLimits", "1.0", dict.fromkeys(LIMITS)),
            # Always JSON text: Nova's services parse it, and take null as no claim.
            "allocation_request": json.dumps(None if allocation is None else _allocation_request(allocation)),
            "allocation_request_version": None if allocation is None else ALLOCATION_VERSION,
            "availability_zone": host.zone or default_zone,
        },
    )


def to_dict(host: NovaHost) -> Mapping[str, Any]:
    """Encode a host for callers that request no objects."""
    return {"host": host.service_host, "nodename": host.node, "limits": {}}


def _allocation_request(allocation: AllocationCandidate) -> Mapping[str, Any]:
    return {
        "allocations": {
            uuid_of(provider): {"resources": dict(amounts)} for provider, amounts in allocation.allocations.items()
        },
        "mappings": {
            suffix: [uuid_of(provider) for provider in providers]
            for suffix, providers in allocation.providers.items()
            if providers
        },
    }


def _object(name: str, version: str, data: Mapping[str, Any]) -> Primitive:
    return {
        f"{PREFIX}.name": name,
        f"{PREFIX}.namespace": NAMESPACE,
        f"{PREFIX}.version": version,
        DATA: data,
        f"{PREFIX}.changes": list(data),
    }
