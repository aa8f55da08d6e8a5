# SPDX-License-Identifier: Apache-2.0
"""Withheld capacity: after a change of a node's shape, guests may hold more of a provider than it has.

Until these guests end, the excess is withheld from the free capacity of the node's other providers, so that it is not
allocated twice. Example: a flat node divided into NUMA cells.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from os_resource_classes import MEMORY_MB, PCPU, VCPU

from rpcapi.resources.inventory import Inventory
from rpcapi.resources.numa.cells import PAGES

Inventories = Mapping[str, Inventory]
Used = Mapping[str, Mapping[str, int]]  # {provider: {class: amount}}


def excess_amounts(used: Used, declared: Mapping[str, Inventories]) -> Counter[str]:
    """Return {class: amount} by which ``used`` exceeds the ``declared`` capacity."""
    excess: Counter[str] = Counter()
    for provider, amounts in used.items():
        inventories = declared.get(provider, {})
        for name, amount in amounts.items():
            over = amount - (inventories[name].capacity if name in inventories else 0)
            if over > 0:
                excess[name] += over
    return excess


def withhold_capacity(declared: Mapping[str, Inventories], used: Used) -> dict[str, Inventories]:
    """Return the inventories of a node's providers, each reduced by the excess at other providers.

    Reduces free capacity of the same class first, then of other classes of the same physical resource (CPUs or memory).
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
    """Withhold up to ``amount`` from the free capacity of a class; return the amount left to withhold."""
    for provider, inventories in remaining.items():
        if name in inventories:
            free = inventories[name].capacity - used.get(provider, {}).get(name, 0)
            withheld = max(0, min(free, amount))
            if withheld:
                inventories[name] = _reduce_capacity(inventories[name], withheld)
                amount -= withheld
    return amount


def _reduce_capacity(inventory: Inventory, amount: int) -> Inventory:
    reserved = inventory.reserved + math.ceil(amount / inventory.allocation_ratio)
    return replace(inventory, reserved=min(inventory.total, reserved))


def _physical_class(name: str) -> str:
    if name.startswith(PAGES):
        return str(MEMORY_MB)
    return str(VCPU if name == PCPU else name)
