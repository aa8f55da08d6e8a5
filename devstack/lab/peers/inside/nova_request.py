# SPDX-License-Identifier: Apache-2.0
"""Nova's request spec and flavor with defaults for all fields."""

import uuid
from typing import Any

from nova import objects


def spec(flavor: Any, image: Any, **fields: Any) -> Any:
    nothing = (
        *("availability_zone", "ignore_hosts", "force_hosts", "force_nodes", "numa_topology", "pci_requests"),
        *("requested_destination", "retry", "limits", "instance_group"),
    )
    defaults: dict[str, Any] = {
        **dict.fromkeys(nothing),
        "project_id": "lab",
        "user_id": "lab",
        "num_instances": 1,
        "scheduler_hints": {},
        "instance_uuid": str(uuid.uuid4()),
        "is_bfv": False,
        "requested_resources": [],
    }
    return objects.RequestSpec(flavor=flavor, image=image, **(defaults | fields))


def flavor(**fields: Any) -> Any:
    minimum = {"vcpus": 1, "memory_mb": 1, "root_gb": 1, "ephemeral_gb": 0, "swap": 0, "extra_specs": {}}
    return objects.Flavor(**({"flavorid": "lab", "name": "lab"} | minimum | fields))
