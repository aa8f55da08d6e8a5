# SPDX-License-Identifier: Apache-2.0
"""The namespaces that every deployment has. docs/host-state.md describes them for operators and writers."""

from rpcapi.resources.inventory import MAX_AMOUNT
from scheduler_svc.core.namespaces import nova
from scheduler_svc.core.namespaces.namespace import Namespace, Schema

_TEXT = {"type": "string", "minLength": 1, "maxLength": 255}
_TEXTS = {"type": "array", "items": _TEXT, "uniqueItems": True}
_AMOUNT = {"type": "number", "minimum": 0}

# A host aggregate, as in Nova: members and metadata. Members are service hosts, nodes and other providers, by name. The
# version orders the owner's messages; a deleted aggregate leaves a document with key "deleted".
AGGREGATE: Schema = {
    "type": "object",
    "properties": {
        "name": _TEXT,
        "hosts": {**_TEXTS, "maxItems": 10_000},
        "metadata": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 255}},
        "version": {"type": ["integer", "string"], "minimum": 0, "minLength": 1, "maxLength": 64},
        "deleted": {"const": True},
    },
    "required": ["hosts"],
    "additionalProperties": False,
}

# A storage pool, as Cinder's back ends report it. Further keys are allowed: back ends have many.
VOLUME: Schema = {
    "type": "object",
    "properties": {
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
    "required": ["service_host", "total_gb", "free_gb"],
}

# The networks that reach a host. Further keys are allowed: mechanism drivers have their own.
NETWORK: Schema = {
    "type": "object",
    "properties": {
        "physnets": _TEXTS,
        "segments": _TEXTS,
        "tunnel_types": _TEXTS,
        "bandwidth_kbps": {"type": "object", "additionalProperties": _AMOUNT},
    },
}


# A custom trait or resource class, by its name, that exists though no provider may have it.
VOCABULARY: Schema = {
    "type": "object",
    "properties": {"changed_ms": {"type": "integer", "minimum": 0}},
    "additionalProperties": False,
}

# The epoch up to which nothing that clients of the Placement API stored is missing, of a partition, by its name.
PLACEMENT: Schema = {
    "type": "object",
    "properties": {"acknowledged_epoch": {"type": "integer", "minimum": 0}},
    "required": ["acknowledged_epoch"],
    "additionalProperties": False,
}

_SIZE = {"type": "integer", "minimum": 0, "maximum": MAX_AMOUNT}
_PAIRS = {"type": "object", "additionalProperties": {"type": "string", "maxLength": 1024}, "maxProperties": 256}

# A flavor and an image that clients find without a file of their own: rpcapi.spec_builder.catalog_documents.
FLAVOR: Schema = {
    "type": "object",
    "properties": {"name": _TEXT, "vcpus": _SIZE, "memory_mb": _SIZE, "disk_gb": _SIZE, "extra_specs": _PAIRS},
    "required": ["name", "vcpus", "memory_mb", "disk_gb"],
    "additionalProperties": False,
}
IMAGE: Schema = {
    "type": "object",
    "properties": {
        "name": _TEXT,
        "id": _TEXT,
        "disk_format": _TEXT,
        "properties": _PAIRS,
        "min_ram_mb": _SIZE,
        "min_disk_gb": _SIZE,
    },
    "required": ["name", "id"],
    "additionalProperties": False,
}


def build() -> list[Namespace]:
    """Return all built-in namespaces. Documents of ``compute`` and ``service`` are validated when reported."""
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
        Namespace(nova.NAMESPACE, nova.WRITER, nova.COMPUTE_NODE),
        Namespace(nova.BRIDGE_NAMESPACE, nova.WRITER, nova.BRIDGE_STATE),
    ]
