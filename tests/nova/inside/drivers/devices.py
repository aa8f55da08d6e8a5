# SPDX-License-Identifier: Apache-2.0
"""Nova's fake hypervisor with PCI devices, whose ids Nova's database and API accept."""

import json
from typing import Any

from nova.virt import fake

VENDOR, PRODUCT = "8086", "10ed"


class DeviceDriver(fake.FakeDriverWithPciResources):
    """Driver with three physical functions, each with one virtual function. Nova's own ids exceed four digits."""

    def get_available_resource(self, nodename: str) -> dict[str, Any]:
        resources: dict[str, Any] = super().get_available_resource(nodename)
        devices = json.loads(resources["pci_passthrough_devices"])
        devices = [{**device, "vendor_id": VENDOR, "product_id": PRODUCT} for device in devices]
        return {**resources, "pci_passthrough_devices": json.dumps(devices)}
