# SPDX-License-Identifier: Apache-2.0
"""Nova's fake hypervisor with a configurable size, and a node uuid that survives a restart."""

import os
from collections import UserDict
from pathlib import Path
from typing import Any

import nova.conf
from nova import exception
from nova.compute import power_state
from nova.virt import fake

SLOT = "CUSTOM_SLOT"
GUESTS = "guests"


class GuestFolder(UserDict[str, Any]):
    """Guests of a hypervisor by uuid, in files that outlive nova-compute; stopped guests run after a restart."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(
            {
                path.name: fake.FakeInstance(path.read_text(), power_state.RUNNING, path.name)
                for path in folder.iterdir()
            }
        )

    def __setitem__(self, uuid: str, guest: Any) -> None:
        super().__setitem__(uuid, guest)
        (self._folder / uuid).write_text(guest.name)

    def __delitem__(self, uuid: str) -> None:
        super().__delitem__(uuid)
        (self._folder / uuid).unlink()


class SimulatedDriver(fake.FakeDriverWithoutFakeNodes):
    """Hypervisor with a single node, whose size is set by environment variables.

    SIMULATED_SLOTS is the number of slots, a resource of the node or of the child provider that
    SIMULATED_SLOTS_PROVIDER names. A reshape moves used slots to the child.
    """

    vcpus = int(os.environ.get("SIMULATED_VCPUS", "16"))
    memory_mb = int(os.environ.get("SIMULATED_MEMORY_MB", "32768"))
    local_gb = int(os.environ.get("SIMULATED_DISK_GB", "400"))

    slots = int(os.environ.get("SIMULATED_SLOTS", "0"))
    slots_provider = os.environ.get("SIMULATED_SLOTS_PROVIDER", "")

    def __init__(self, virtapi: Any, read_only: bool = False) -> None:
        super().__init__(virtapi, read_only)
        self.instances = GuestFolder(Path(nova.conf.CONF.state_path) / GUESTS)

    def update_provider_tree(self, provider_tree: Any, nodename: str, allocations: Any = None) -> None:
        provider = self.slots_provider or nodename
        is_reshape = provider != nodename and SLOT in provider_tree.data(nodename).inventory
        if is_reshape and allocations is None:
            raise exception.ReshapeNeeded
        super().update_provider_tree(provider_tree, nodename, allocations=allocations)
        root = provider_tree.data(nodename)
        for child in set(provider_tree.get_provider_uuids(nodename)) - {root.uuid}:
            if provider_tree.data(child).name != provider and SLOT in provider_tree.data(child).inventory:
                provider_tree.remove(child)
        if self.slots:
            if not provider_tree.exists(provider):
                provider_tree.new_child(provider, nodename)
            inventory = {"total": self.slots, "max_unit": self.slots, "min_unit": 1, "step_size": 1, "reserved": 0}
            slots = {SLOT: {**inventory, "allocation_ratio": 1.0}}
            provider_tree.update_inventory(provider, {**provider_tree.data(provider).inventory, **slots})
        if is_reshape:
            _move_slots(allocations, root.uuid, provider_tree.data(provider).uuid)

    def post_live_migration(
        self, context: Any, instance: Any, block_device_info: Any, migrate_data: Any = None
    ) -> None:
        """Remove the guest from the source: Nova expects the driver to have done so."""
        self.destroy(context, instance, network_info=None, block_device_info=block_device_info)


def _move_slots(allocations: Any, root: str, child: str) -> None:
    for record in allocations.values():
        resources = record["allocations"].get(root, {}).get("resources", {})
        if SLOT in resources:
            record["allocations"][child] = {"resources": {SLOT: resources.pop(SLOT)}}
