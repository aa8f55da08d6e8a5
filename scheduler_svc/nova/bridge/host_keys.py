# SPDX-License-Identifier: Apache-2.0
"""Facts, metrics and address of a host, parsed from its compute node row."""

import ipaddress
import math
from typing import Any

from sqlalchemy import Row

from scheduler_svc.core.namespaces import compute
from scheduler_svc.nova.bridge.json_columns import read_list, read_number, read_object

# {count in ``stats``: name that agents report}, for the counts that filters and weighers read.
COUNTS = {"num_instances": "instances", "io_workload": "io_ops", "failed_builds": "failed_builds"}
# Metrics that monitors store as shares from 0 to 1 and that are weighed in percent.
SHARES = {"cpu.user.percent", "cpu.kernel.percent", "cpu.idle.percent", "cpu.iowait.percent", "cpu.percent"}
PERCENT = 100
COUNT_PREFIX = "num_"  # prefix of counts that change with each instance, so that they are no facts


def host_keys(row: Row[Any]) -> dict[str, Any]:
    """Return the descriptive keys of a host's document; invalid JSON counts as empty."""
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
    """Return {metric: value} of the host's monitors, truncated to integers as in Nova."""
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
