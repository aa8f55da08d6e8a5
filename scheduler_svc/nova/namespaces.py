# SPDX-License-Identifier: Apache-2.0
"""Namespaces that gantt-nova-bridge fills from Nova's databases."""

from scheduler_svc.core.namespaces import compute_node
from scheduler_svc.core.namespaces.namespace import Namespace, object_schema

BRIDGE_NAMESPACE = "nova_bridge"  # contains a single document, BRIDGE
BRIDGE = "bridge"
WRITER = "gantt-nova-bridge"
STATUS_KEYS = ("up", "disabled", "forced_down", "mapped", "cell_disabled")

JUST_DOWN_KEY = "just_down"  # true while the service is down for less than a minute

_NAME = {"type": "string", "minLength": 1, "maxLength": 255}
_FLAG = {"type": "boolean"}
_COUNT = _TIME = {"type": "integer", "minimum": 0}

COMPUTE_NODE = object_schema(
    {
        compute_node.SERVICE_HOST: _NAME,
        compute_node.NODE: _NAME,
        compute_node.CELL: _NAME,
        **dict.fromkeys(STATUS_KEYS, _FLAG),
        JUST_DOWN_KEY: _FLAG,
        "disabled_reason": {"type": ["string", "null"]},
        "version": {"type": "integer", "minimum": 0},
        "facts": {"type": "object"},
        "metrics": {"type": "object", "additionalProperties": {"type": "number"}},
        "host_ip": {"type": ["string", "null"]},
        # Contents of Nova's columns: amounts and allocation ratios, NUMATopology, PCI device pools.
        "amounts": {"type": "object", "additionalProperties": {"type": "number"}},
        "numa_topology": {"type": "object"},
        "pci_pools": {"type": "array", "items": {"type": "object"}},
        compute_node.FREE_PCI_DEVICES: _COUNT,
    },
    required=[compute_node.SERVICE_HOST, compute_node.NODE, compute_node.CELL, *STATUS_KEYS],
)

# ``read_ms``: store clock when the API database was last read. ``unread_since_ms``: when a cell first failed to answer.
BRIDGE_STATE = object_schema(
    {
        "read_ms": _TIME,
        "interval_ms": _TIME,
        "cells": {
            "type": "object",
            "additionalProperties": object_schema(
                {"name": {"type": ["string", "null"]}, "disabled": _FLAG, "unread_since_ms": _TIME},
                required=["name", "disabled"],
            ),
        },
        "unmapped": {"type": "array", "items": _NAME},
        "all_computes_own": _FLAG,
    },
    required=["read_ms", "interval_ms", "cells", "all_computes_own"],
)


def build() -> list[Namespace]:
    """Return the bridge's namespaces, except aggregates, which are built in."""
    return [
        Namespace(compute_node.NAMESPACE, WRITER, COMPUTE_NODE),
        Namespace(BRIDGE_NAMESPACE, WRITER, BRIDGE_STATE),
    ]
