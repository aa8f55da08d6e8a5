# SPDX-License-Identifier: Apache-2.0
"""Does an amount fit an inventory? The rule that table, claim script and agent all follow."""

from collections.abc import Mapping

from rpcapi.model.inventory import Inventory


def fits(inventory: Inventory | None, used: int, amount: int) -> bool:
    """Tell whether ``amount`` more fits beside ``used``, and is a size this inventory hands out."""
    return (
        inventory is not None
        and used + amount <= inventory.capacity
        and inventory.min_unit <= amount <= inventory.max_unit
        and amount % inventory.step_size == 0
    )


def misfit(inventories: Mapping[str, Inventory], used: Mapping[str, int], resources: Mapping[str, int]) -> str | None:
    """Return the first resource class of ``resources`` that does not fit, or None when all do."""
    for resource_class, amount in resources.items():
        if not fits(inventories.get(resource_class), used.get(resource_class, 0), amount):
            return resource_class
    return None
