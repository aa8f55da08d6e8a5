# SPDX-License-Identifier: Apache-2.0
"""What guests hold of a node where it is no longer: its shape changed under them, such as by getting NUMA cells.

They run on, so what they hold may not be sold a second time under its new name. It is kept back there until they end.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from os_resource_classes import MEMORY_MB, PCPU, VCPU

from rpcapi.model.inventory import Inventory
from rpcapi.model.numa.cells import PAGES

Inventories = Mapping[str, Inventory]
_PAGES = PAGES.partition("{")[0]


def amounts(used: Mapping[str, Mapping[str, int]], given: Mapping[str, Inventories]) -> Counter[str]:
    """Return by class what is ``used`` of providers that do not have it by what is ``given``, both by provider."""
    found: Counter[str] = Counter()
    for provider, held in used.items():
        inventories = given.get(provider, {})
        found.update({name: amount for name, amount in held.items() if amount and name not in inventories})
    return found


def kept_back(given: Mapping[str, Inventories], lost: Mapping[str, int]) -> dict[str, Inventories]:
    """Return the inventories of one node's providers less what is ``lost``: from the first ones on, so always alike.

    What no provider has any more, pinned CPUs or huge pages, is kept back of CPUs or memory as such. What is lost
    beyond all that there is makes no difference.
    """
    classes = {name for inventories in given.values() for name in inventories}
    left = {name: dict(inventories) for name, inventories in given.items()}
    for lost_class, amount in lost.items():
        name = lost_class if lost_class in classes else _substitute(lost_class)
        if name is not None:
            _take(left.values(), name, amount, is_physical=name != lost_class)
    return {name: inventories if inventories != given[name] else given[name] for name, inventories in left.items()}


def _take(providers: Iterable[dict[str, Inventory]], name: str, amount: int, is_physical: bool) -> None:
    """Reserve so much of a class; ``is_physical``: of what is there, whatever it is sold as."""
    for inventories in providers:
        inventory = inventories.get(name)
        if inventory is None or amount <= 0:
            continue
        ratio = 1.0 if is_physical else inventory.allocation_ratio
        free = inventory.total - inventory.reserved
        taken = min(free, math.ceil(amount / ratio)) if ratio else free
        inventories[name] = replace(inventory, reserved=inventory.reserved + taken)
        amount -= math.floor(taken * ratio)


def _substitute(name: str) -> str | None:
    if name == PCPU:
        return VCPU
    return MEMORY_MB if name.startswith(_PAGES) else None
