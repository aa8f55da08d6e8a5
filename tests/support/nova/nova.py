# SPDX-License-Identifier: Apache-2.0
"""Documents of Nova's compute nodes, as gantt-nova-bridge writes them."""

from typing import Any

CELL = "11111111-1111-4111-8111-111111111111"


def compute_node(**changes: Any) -> dict[str, Any]:
    """Return the document of a compute node that is up, enabled and mapped."""
    return {
        "service_host": "compute1",
        "node": "compute1.example",
        "cell": CELL,
        "up": True,
        "disabled": False,
        "forced_down": False,
        "disabled_reason": None,
        "version": 74,
        "mapped": True,
        "cell_disabled": False,
        "facts": {"hypervisor_type": "QEMU", "hypervisor_version": 8001000},
        "metrics": {"instances": 3, "io_ops": 1},
        "host_ip": "192.0.2.7",
        **changes,
    }
