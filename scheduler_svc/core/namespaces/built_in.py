# SPDX-License-Identifier: Apache-2.0
"""Namespaces that every deployment has; see docs/host-state.md."""

from rpcapi.resources.claims import GroupPolicy
from rpcapi.resources.inventory import MAX_AMOUNT
from scheduler_svc.core.namespaces.namespace import Namespace, object_schema

SCHEDULER = "gantt-scheduler"  # writer of namespaces that RPC callers do not write directly

_TEXT = {"type": "string", "minLength": 1, "maxLength": 255}
_TEXTS = {"type": "array", "items": _TEXT, "uniqueItems": True}
_AMOUNT = {"type": "number", "minimum": 0}

# Nova's host aggregate, with service hosts, nodes and other providers. A deleted aggregate has the key "deleted".
AGGREGATE = object_schema(
    {
        "name": _TEXT,
        "hosts": {**_TEXTS, "maxItems": 10_000},
        "metadata": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 255}},
        "version": {"type": ["integer", "string"], "minimum": 0, "minLength": 1, "maxLength": 64},
        "deleted": {"const": True},
    },
    required=["hosts"],
)

# Storage pool as reported by Cinder's back ends, which add many keys of their own.
VOLUME = object_schema(
    {
        "service_host": _TEXT,
        "backend": _TEXT,
        "total_gb": _AMOUNT,
        "free_gb": _AMOUNT,
        "allocated_gb": _AMOUNT,
        "provisioned_gb": _AMOUNT,
        "reserved_percentage": {"type": "number", "minimum": 0, "maximum": 100},
        "max_over_subscription_ratio": {"type": "number", "minimum": 1},
        "thin_provisioning": {"type": "boolean"},
        "availability_zone": _TEXT,
        "hosts": {**_TEXTS, "maxItems": 2000},
        "location": _TEXT,
        "capabilities": {"type": "object"},
    },
    required=["service_host", "total_gb", "free_gb"],
    is_open=True,
)

# Networks that a host is connected to. Mechanism drivers may add keys.
NETWORK = object_schema(
    {
        "physnets": _TEXTS,
        "segments": _TEXTS,
        "tunnel_types": _TEXTS,
        "bandwidth_kbps": {"type": "object", "additionalProperties": _AMOUNT},
    },
    is_open=True,
)

# Custom trait or resource class. Its document keeps the name defined while no provider uses it.
VOCABULARY = object_schema({"changed_ms": {"type": "integer", "minimum": 0}})

# Document per partition. Up to this epoch, no write of Placement API clients is missing.
PLACEMENT = object_schema({"acknowledged_epoch": {"type": "integer", "minimum": 0}}, required=["acknowledged_epoch"])

_SIZE = {"type": "integer", "minimum": 0, "maximum": MAX_AMOUNT}
_PAIRS = {"type": "object", "additionalProperties": {"type": "string", "maxLength": 1024}, "maxProperties": 256}

# Flavors and images for clients without a catalog file; see rpcapi.spec_builder.catalog_documents.
FLAVOR = object_schema(
    {"name": _TEXT, "vcpus": _SIZE, "memory_mb": _SIZE, "disk_gb": _SIZE, "extra_specs": _PAIRS},
    required=["name", "vcpus", "memory_mb", "disk_gb"],
)
IMAGE = object_schema(
    {"name": _TEXT, "id": _TEXT, "disk_format": _TEXT, "properties": _PAIRS, "min_ram_mb": _SIZE, "min_disk_gb": _SIZE},
    required=["name", "id"],
)
# Server group; see rpcapi.objects.ServerGroup. ``is_implicit``: created by the first request that named the group.
# ``is_external``: created by a request of Nova. ``deleted_ms``: in the document of a deleted group, for ``created_ms``.
SERVER_GROUP = object_schema(
    {
        "name": {"type": "string", "maxLength": 255},
        "project": {"type": "string", "maxLength": 255},
        "policy": {"enum": list(GroupPolicy)},
        "max_per_host": {"type": "integer", "minimum": 1, "maximum": MAX_AMOUNT},
        "created_ms": {"type": "integer", "minimum": 0},
        "deleted_ms": {"type": "integer", "minimum": 0},
        "is_implicit": {"const": True},
        "is_external": {"const": True},
    },
    required=["project", "policy", "max_per_host"],
)


def build() -> list[Namespace]:
    """Return the built-in namespaces. Reports are validated elsewhere: ``compute`` and ``service`` have no schema."""
    return [
        Namespace("compute", "gantt-compute"),
        Namespace("service", "gantt"),
        Namespace("aggregate", "gantt", AGGREGATE),
        Namespace("volume", "gantt-volume", VOLUME),
        Namespace("network", "gantt-network", NETWORK),
        Namespace("trait", "gantt-placement", VOCABULARY),
        Namespace("resource_class", "gantt-placement", VOCABULARY),
        Namespace("placement", "gantt", PLACEMENT),
        Namespace("flavor", "gantt", FLAVOR),
        Namespace("image", "gantt", IMAGE),
        Namespace("server_group", SCHEDULER, SERVER_GROUP),
    ]
