# SPDX-License-Identifier: Apache-2.0
"""Facts, metrics and address of a host, from the row of its compute node."""

import ipaddress
import math
from typing import Any

from sqlalchemy import Row

from scheduler_svc.core.namespaces import compute
from scheduler_svc.nova.bridge.json_columns import read_list, read_number, read_object

# The counts in ``stats`` that filters and weighers read, by the names that agents report them with.
COUNTS = {"num_instances": "instances", "io_workload": "io_ops", "failed_builds": "failed_builds"}
# Monitored metrics that are stored as shares from 0 to 1, and weighed as per cent.
SHARES = {"cpu.user.percent", "cpu.kernel.percent", "cpu.idle.percent", "cpu.iowait.percent", "cpu.percent"}
PERCENT = 100
COUNT_PREFIX = "num_"  # of further counts, which change with each instance: they are no facts


def host_keys(row: Row[Any]) -> dict[str, Any]:
    """Return the part of the document that describes the host. A column that is not valid JSON counts as empty."""
    stats = read_object(row.stats)
    return {
        "facts": _facts(row, stats),
        "metrics": {**_monitored(row.metrics), **_counts(stats)},
        "host_ip": _address(row.host_ip),
    }


def _facts(row: Row[Any], stats: dict[str, Any]) -> dict[str, Any]:
    described = {
        "hypervisor_type": row.hypervisor_type,
        "hypervisor_version": row.hypervisor_version,
        "cpu_info": read_object(row.cpu_info),
        "supported_instances": read_list(row.supported_instances),
    }
    others = {key: value for key, value in stats.items() if key not in COUNTS and not key.startswith(COUNT_PREFIX)}
    facts = others | {key: value for key, value in described.items() if value not in (None, {}, [])}
    refused = compute.refuse_facts(facts)
    return {key: value for key, value in facts.items() if key not in refused}


def _counts(stats: dict[str, Any]) -> dict[str, float]:
    return {name: number for key, name in COUNTS.items() if (number := read_number(stats.get(key))) is not None}


def _monitored(text: str | None) -> dict[str, int]:
    """Return the metrics that the host's monitors report, by name: whole numbers, as Nova weighs them."""
    return {
        metric["name"]: int(number * PERCENT if metric["name"] in SHARES else number)
        for metric in read_list(text)
        if isinstance(metric, dict)
        and isinstance(metric.get("name"), str)
        and (number := read_number(metric.get("value"))) is not None
        and math.isfinite(number)
    }


def _address(text: Any) -> str | None:
    try:
        return None if text is None else str(ipaddress.ip_address(str(text)))
    except ValueError:
        return None
