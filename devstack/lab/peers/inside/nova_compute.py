# SPDX-License-Identifier: Apache-2.0
"""Nova's compute node from the plain dictionaries of generated clouds."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from nova import objects


def compute_node(
    *,
    total: Mapping[str, int],
    used: Mapping[str, int],
    facts: Mapping[str, Any],
    metrics: Sequence[Mapping[str, Any]] = (),
    **fields: Any,
) -> Any:
    """Return a compute node whose defaults ``fields`` override. Memory is in MiB, disk in GiB."""
    defaults: dict[str, Any] = {
        "cpu_allocation_ratio": 1.0,
        "ram_allocation_ratio": 1.0,
        "disk_allocation_ratio": 1.0,
        "vcpus": total["VCPU"],
        "vcpus_used": used["VCPU"],
        "memory_mb": total["MEMORY_MB"],
        "memory_mb_used": used["MEMORY_MB"],
        "free_ram_mb": total["MEMORY_MB"] - used["MEMORY_MB"],
        "local_gb": total["DISK_GB"],
        "local_gb_used": used["DISK_GB"],
        "free_disk_gb": total["DISK_GB"] - used["DISK_GB"],
        "disk_available_least": None,
        "hypervisor_type": facts["hypervisor_type"],
        "hypervisor_version": facts["hypervisor_version"],
        "cpu_info": json.dumps(facts["cpu_info"]),
        "metrics": json.dumps(metrics),
        "supported_hv_specs": [
            objects.HVSpec(arch=arch, hv_type=kind, vm_mode=mode) for arch, kind, mode in facts["supported_instances"]
        ],
    }
    return objects.ComputeNode(**(defaults | fields))
