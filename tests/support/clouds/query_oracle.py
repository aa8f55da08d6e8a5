# SPDX-License-Identifier: Apache-2.0
"""Attributes of hosts as Nova's filters read them from plain dictionaries, and queries of its JsonFilter."""

from typing import Any

from tests.support.clouds.clouds import Host


def attribute(host: Host, name: str) -> Any:
    """Return an attribute of Nova's HostState, None if there is none."""
    total, used = host["total"], host["used"]
    attributes = {
        "vcpus_total": total["VCPU"],
        "vcpus_used": used["VCPU"],
        "total_usable_ram_mb": total["MEMORY_MB"],
        "free_ram_mb": total["MEMORY_MB"] - used["MEMORY_MB"],
        "total_usable_disk_gb": total["DISK_GB"],
        "free_disk_mb": (total["DISK_GB"] - used["DISK_GB"]) * 1024,
        "disk_mb_used": used["DISK_GB"] * 1024,
        "num_instances": host["metrics"].get("instances", 0),
        "num_io_ops": host["metrics"].get("io_ops", 0),
        "failed_builds": host["metrics"].get("failed_builds", 0),
        "host": host["name"],
        "nodename": host["name"],
        "hypervisor_hostname": host["name"],
        "host_ip": host["host_ip"],
    }
    facts = ("hypervisor_type", "hypervisor_version", "cpu_info", "supported_instances")
    return host["facts"].get(name) if name in facts else attributes.get(name)


def evaluate(expression: list[Any], host: Host) -> bool:
    if not expression:
        return True
    sign, *operands = expression
    values = [value for value in (_value(operand, host) for operand in operands) if value is not None]
    if sign in ("and", "or", "not"):
        return {"and": all(values), "or": any(values), "not": any(not value for value in values)}[sign]
    if len(values) < 2:
        return False
    first, *others = values
    if sign == "in":
        return first in others
    return all(_compare(first, sign, other) for other in others)


def _compare(first: Any, sign: str, other: Any) -> bool:
    if sign == "=":
        return bool(first == other)
    if isinstance(first, str) != isinstance(other, str):
        return False
    return bool({"<": first < other, ">": first > other, "<=": first <= other, ">=": first >= other}[sign])


def _value(operand: Any, host: Host) -> Any:
    if isinstance(operand, list):
        return evaluate(operand, host)
    if operand == "" or operand is None:
        return None
    if isinstance(operand, str) and operand.startswith("$"):
        return attribute(host, operand[1:])
    return operand
