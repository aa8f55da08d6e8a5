# SPDX-License-Identifier: Apache-2.0
"""Rule by which an amount fits an inventory, shared by host table, claim script and agent."""

from collections.abc import Mapping

from rpcapi.resources.inventory import Inventory


def fits(inventory: Inventory | None, used: int, amount: int) -> bool:
    """Return whether ``amount`` fits besides ``used`` and obeys min_unit, max_unit and step_size."""
    return (
        inventory is not None
        and used + amount <= inventory.capacity
        and inventory.min_unit <= amount <= inventory.max_unit
        and amount % inventory.step_size == 0
    )


def misfit(inventories: Mapping[str, Inventory], used: Mapping[str, int], resources: Mapping[str, int]) -> str | None:
    for resource_class, amount in resources.items():
        if not fits(inventories.get(resource_class), used.get(resource_class, 0), amount):
            return resource_class
    return None
