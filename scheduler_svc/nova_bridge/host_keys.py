# SPDX-License-Identifier: Apache-2.0
"""Facts, metrics and address of a host, from the row of its compute node."""

import ipaddress
import json
from typing import Any

from sqlalchemy import Row

# The counts in ``stats`` that filters and weighers read, by the names that agents report them with.
COUNTS = {"num_instances": "instances", "io_workload": "io_ops", "failed_builds": "failed_builds"}
COUNT_PREFIX = "num_"  # of further counts, which change with each instance: they are no facts


def host_keys(row: Row[Any]) -> dict[str, Any]:
    """Return the part of the document that describes the host. A column that is not valid JSON counts as empty."""
    stats = _object(row.stats)
    return {
        "facts": _facts(row, stats),
        "metrics": {**_monitored(row.metrics), **_counts(stats)},
        "host_ip": _address(row.host_ip),
    }


def _facts(row: Row[Any], stats: dict[str, Any]) -> dict[str, Any]:
    described = {
        "hypervisor_type": row.hypervisor_type,
        "hypervisor_version": row.hypervisor_version,
        "cpu_info": _object(row.cpu_info),
        "supported_instances": _list(row.supported_instances),
    }
    others = {key: value for key, value in stats.items() if key not in COUNTS and not key.startswith(COUNT_PREFIX)}
    return others | {key: value for key, value in described.items() if value not in (None, {}, [])}


def _counts(stats: dict[str, Any]) -> dict[str, float]:
    return {name: number for key, name in COUNTS.items() if (number := _number(stats.get(key))) is not None}


def _monitored(text: str | None) -> dict[str, float]:
    """Return the metrics that the host's monitors report, by name."""
    return {
        metric["name"]: number
        for metric in _list(text)
        if isinstance(metric, dict)
        and isinstance(metric.get("name"), str)
        and (number := _number(metric.get("value"))) is not None
    }


def _number(value: Any) -> float | None:
    """Return a number that is one, or a text of one, as ``stats`` may have; None for anything else."""
    if isinstance(value, str):
        try:
            value = float(value) if "." in value else int(value)
        except ValueError:
            return None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and value == value else None  # noqa: PLR0124 - NaN


def _address(text: Any) -> str | None:
    try:
        return None if text is None else str(ipaddress.ip_address(str(text)))
    except ValueError:
        return None


def _object(text: str | None) -> dict[str, Any]:
    value = _decode(text)
    return value if isinstance(value, dict) else {}


def _list(text: str | None) -> list[Any]:
    value = _decode(text)
    return value if isinstance(value, list) else []


def _decode(text: str | None) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None
