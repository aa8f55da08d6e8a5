# SPDX-License-Identifier: Apache-2.0
"""Amounts, NUMA cells and PCI pools of a compute node row, parsed as by Nova's HostState."""

import json
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Row

from scheduler_svc.nova.bridge import tables
from scheduler_svc.nova.bridge.json_columns import read_number, read_object, read_value

DATA = "nova_object.data"
POOL_KEYS = ("vendor_id", "product_id", "numa_node", "count", "tags")
MAX_BYTES = 20_000  # limit of cells and of pools; larger values are omitted, because documents are limited too


def capacity_keys(row: Row[Any]) -> dict[str, Any]:
    """Return the valid capacity keys of a host's document; ``free_pci_devices`` counts omitted pools too."""
    pools = list(_pools(row.pci_stats))
    return {
        "amounts": {name: amount for name in tables.AMOUNTS if (amount := getattr(row, name)) is not None},
        "numa_topology": _bounded(read_object(row.numa_topology), {}),
        "pci_pools": _bounded(pools, []),
        "free_pci_devices": sum(pool["count"] for pool in pools),
    }


def _pools(text: str | None) -> Iterator[dict[str, Any]]:
    stats = read_value(text)
    if isinstance(stats, dict):
        stats = stats[DATA].get("objects") if isinstance(stats.get(DATA), dict) else [stats]
    for entry in stats if isinstance(stats, list) else ():
        pool = entry.get(DATA, entry) if isinstance(entry, dict) else {}
        count = read_number(pool.get("count")) if isinstance(pool, dict) else None
        if count is not None and count >= 0:
            tags = pool.get("tags", {key: pool[key] for key in pool.keys() - POOL_KEYS})
            yield {**{key: pool.get(key) for key in POOL_KEYS}, "count": int(count), "tags": tags}


def _bounded(value: Any, empty: Any) -> Any:
    return value if len(json.dumps(value)) <= MAX_BYTES else empty
