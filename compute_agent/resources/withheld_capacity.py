# SPDX-License-Identifier: Apache-2.0
"""Withheld capacity: guests hold more of a provider than it has after the shape of their node changed.

The guests run on, so the excess is withheld from the free capacity of other providers of the node until they end;
otherwise it would be allocated twice. Example: a flat node that is divided into NUMA cells.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from os_resource_classes import MEMORY_MB, PCPU, VCPU

from rpcapi.resources.inventory import Inventory
from rpcapi.resources.numa.cells import PAGES

Inventories = Mapping[str, Inventory]
Used = Mapping[str, Mapping[str, int]]  # by provider and class


def excess_amounts(used: Used, declared: Mapping[str, Inventories]) -> Counter[str]:
    """Return by resource class by how much ``used`` exceeds the capacity of the ``declared`` inventories."""
    excess: Counter[str] = Counter()
    for provider, amounts in used.items():
        inventories = declared.get(provider, {})
        for name, amount in amounts.items():
            over = amount - (inventories[name].capacity if name in inventories else 0)
            if over > 0:
                excess[name] += over
    return excess


def withhold_capacity(declared: Mapping[str, Inventories], used: Used) -> dict[str, Inventories]:
    """Return the inventories of one node's providers, less the excess of the others.

    The excess is withheld from free capacity of the same class first, then from classes of the same physical resource:
    CPUs, or memory.
    """
    remaining = {provider: dict(inventories) for provider, inventories in declared.items()}
    classes = sorted({name for inventories in declared.values() for name in inventories})
    for resource_class, amount in sorted(excess_amounts(used, declared).items()):
        missing, kind = amount, _physical_class(resource_class)
        substitutes = [name for name in classes if name != resource_class and _physical_class(name) == kind]
        for name in [resource_class, *substitutes]:
            missing = _withhold(remaining, used, name, missing)
    return {
        name: inventories if inventories != declared[name] else declared[name]
        for name, inventories in remaining.items()
    }


def _withhold(remaining: Mapping[str, dict[str, Inventory]], used: Used, name: str, amount: int) -> int:
    """Withhold up to ``amount`` from the free capacity of a class, and return what is still missing."""
    for provider, inventories in remaining.items():
        if name in inventories:
            free = inventories[name].capacity - used.get(provider, {}).get(name, 0)
            withheld = max(0, min(free, amount))
            if withheld:
                inventories[name] = _reduce_capacity(inventories[name], withheld)
                amount -= withheld
    return amount


def _reduce_capacity(inventory: Inventory, amount: int) -> Inventory:
    """Return the inventory with its capacity reduced by at least ``amount``."""
    reserved = inventory.reserved + math.ceil(amount / inventory.allocation_ratio)
    return replace(inventory, reserved=min(inventory.total, reserved))


def _physical_class(name: str) -> str:
    if name.startswith(PAGES):
        return MEMORY_MB
    return VCPU if name == PCPU else name
