# SPDX-License-Identifier: Apache-2.0
"""What guests hold of a node beyond what is there: its shape changed under them, such as by getting NUMA cells.

They run on, so what they hold may not be sold a second time by another provider of the node. It is kept back there
until they end.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from os_resource_classes import MEMORY_MB, PCPU, VCPU

from rpcapi.model.inventory import Inventory
from rpcapi.model.numa.cells import PAGES

Inventories = Mapping[str, Inventory]
Used = Mapping[str, Mapping[str, int]]  # by provider and class
_PAGES = PAGES.partition("{")[0]


def amounts(used: Used, given: Mapping[str, Inventories]) -> Counter[str]:
    """Return by class what is ``used`` of providers beyond what they have by ``given``."""
    found: Counter[str] = Counter()
    for provider, held in used.items():
        inventories = given.get(provider, {})
        for name, amount in held.items():
            over = amount - (inventories[name].capacity if name in inventories else 0)
            if over > 0:
                found[name] += over
    return found


def kept_back(given: Mapping[str, Inventories], used: Used) -> dict[str, Inventories]:
    """Return the inventories of one node's providers less what others of them are in want of.

    It is kept back of what is free of the same class, and then of what is the same stuff: CPUs, or memory.
    """
    left = {provider: dict(inventories) for provider, inventories in given.items()}
    for lost, amount in sorted(amounts(used, given).items()):
        rest = amount
        for name in [lost, *_instead(lost, given)]:
            rest = _keep(left, used, name, rest)
    return {name: inventories if inventories != given[name] else given[name] for name, inventories in left.items()}


def _keep(left: Mapping[str, dict[str, Inventory]], used: Used, name: str, amount: int) -> int:
    """Take so much of a class from what is free, and return what there is too little for."""
    for provider, inventories in left.items():
        if name in inventories:
            free = inventories[name].capacity - used.get(provider, {}).get(name, 0)
            taken = max(0, min(free, amount))
            if taken:
                inventories[name] = _less(inventories[name], taken)
                amount -= taken
    return amount


def _less(inventory: Inventory, amount: int) -> Inventory:
    """Return it with a capacity that is less by this at least."""
    reserved = inventory.reserved + math.ceil(amount / inventory.allocation_ratio)
    return replace(inventory, reserved=min(inventory.total, reserved))


def _instead(name: str, given: Mapping[str, Inventories]) -> Iterator[str]:
    """Yield the other classes that are sold of the same stuff."""
    classes = sorted({each for inventories in given.values() for each in inventories} - {name})
    yield from (each for each in classes if _stuff(each) == _stuff(name))


def _stuff(name: str) -> str:
    if name.startswith(_PAGES):
        return MEMORY_MB
    return VCPU if name == PCPU else name
