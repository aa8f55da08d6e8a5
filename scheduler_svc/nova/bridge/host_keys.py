# SPDX-License-Identifier: Apache-2.0
"""Keys of a host's document, parsed from its compute node row as by Nova's HostState. Invalid JSON counts as empty."""

import ipaddress
import json
import math
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Row

from scheduler_svc.core.namespaces import compute
from scheduler_svc.nova.bridge import tables

# {count in ``stats``: name that agents report}, for the counts that filters and weighers read.
COUNTS = {"num_instances": "instances", "io_workload": "io_ops", "failed_builds": "failed_builds"}
# Metrics that monitors store as shares from 0 to 1 and that are weighed in percent.
SHARES = {"cpu.user.percent", "cpu.kernel.percent", "cpu.idle.percent", "cpu.iowait.percent", "cpu.percent"}
PERCENT = 100
COUNT_PREFIX = "num_"  # prefix of counts that change with each instance, so that they are no facts
DATA = "nova_object.data"
POOL_KEYS = ("vendor_id", "product_id", "numa_node", "count", "tags")
MAX_BYTES = 20_000  # limit of cells and of pools; larger values are omitted, because documents are limited too


def host_keys(row: Row[Any]) -> dict[str, Any]:
    """Return the keys of a host's document; ``free_pci_devices`` counts omitted pools too."""
    stats = _read_object(row.stats)
    pools = list(_pools(row.pci_stats))
    return {
        "facts": _facts(row, stats),
        "metrics": {**_monitored(row.metrics), **_counts(stats)},
        "host_ip": _address(row.host_ip),
        "amounts": {name: amount for name in tables.AMOUNTS if (amount := getattr(row, name)) is not None},
        "numa_topology": _bounded(_read_object(row.numa_topology), {}),
        "pci_pools": _bounded(pools, []),
        "free_pci_devices": sum(pool["count"] for pool in pools),
    }


def _read_object(text: str | None) -> dict[str, Any]:
    value = _read_value(text)
    return value if isinstance(value, dict) else {}


def _read_list(text: str | None) -> list[Any]:
    value = _read_value(text)
    return value if isinstance(value, list) else []


def _read_value(text: str | None) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None


def _read_number(value: Any) -> float | None:
    """Parse a number, which ``stats`` may store as text; return None for anything else."""
    if isinstance(value, str):
        try:
            value = float(value) if "." in value else int(value)
        except ValueError:
            return None
    if isinstance(value, float):
        return None if math.isnan(value) else value
    return value if type(value) is int else None


def _facts(row: Row[Any], stats: dict[str, Any]) -> dict[str, Any]:
    described = {
        "hypervisor_type": row.hypervisor_type,
        "hypervisor_version": row.hypervisor_version,
        "cpu_info": _read_object(row.cpu_info),
        "supported_instances": _read_list(row.supported_instances),
    }
    others = {key: value for key, value in stats.items() if key not in COUNTS and not key.startswith(COUNT_PREFIX)}
    facts = others | {key: value for key, value in described.items() if value not in (None, {}, [])}
    refused = compute.refuse_facts(facts)
    return {key: value for key, value in facts.items() if key not in refused}


def _counts(stats: dict[str, Any]) -> dict[str, float]:
    return {name: number for key, name in COUNTS.items() if (number := _read_number(stats.get(key))) is not None}


def _monitored(text: str | None) -> dict[str, int]:
    """Return {metric: value} of the host's monitors, truncated to integers as in Nova."""
    return {
        metric["name"]: int(number * PERCENT if metric["name"] in SHARES else number)
        for metric in _read_list(text)
        if isinstance(metric, dict)
        and isinstance(metric.get("name"), str)
        and (number := _read_number(metric.get("value"))) is not None
        and math.isfinite(number)
    }


def _address(text: Any) -> str | None:
    try:
        return None if text is None else str(ipaddress.ip_address(str(text)))
    except ValueError:
        return None


def _pools(text: str | None) -> Iterator[dict[str, Any]]:
    stats = _read_value(text)
    if isinstance(stats, dict):
        stats = stats[DATA].get("objects") if isinstance(stats.get(DATA), dict) else [stats]
    for entry in stats if isinstance(stats, list) else ():
        pool = entry.get(DATA, entry) if isinstance(entry, dict) else {}
        count = _read_number(pool.get("count")) if isinstance(pool, dict) else None
        if count is not None and count >= 0:
            tags = pool.get("tags", {key: pool[key] for key in pool.keys() - POOL_KEYS})
            yield {**{key: pool.get(key) for key in POOL_KEYS}, "count": int(count), "tags": tags}


def _bounded(value: Any, empty: Any) -> Any:
    return value if len(json.dumps(value)) <= MAX_BYTES else empty
