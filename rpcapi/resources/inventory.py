# SPDX-License-Identifier: Apache-2.0
"""Inventory of a resource class: its capacity, and whether an amount fits."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from rpcapi import errors

MAX_AMOUNT = 2**31 - 1  # as in Placement
MAX_RATIO = 10_000.0


def capacity(total: int, reserved: int, allocation_ratio: float) -> int:
    """Return floor((total - reserved) * allocation_ratio), in decimals: binary 100 * 1.15 is one too low."""
    return math.floor((total - reserved) * Decimal(repr(float(allocation_ratio))))


@dataclass(frozen=True, slots=True)
class Inventory:
    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = MAX_AMOUNT
    step_size: int = 1
    allocation_ratio: float = 1.0

    @property
    def capacity(self) -> int:
        return capacity(self.total, self.reserved, self.allocation_ratio)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"capacity": self.capacity}

    @classmethod
    def from_valid(cls, raw: Mapping[str, Any]) -> "Inventory":
        """Build from a checked mapping, ignoring other keys."""
        return cls(**{name: raw[name] for name in cls.__slots__ if name in raw})

    @classmethod
    def from_dict(cls, resource_class: str, raw: Any) -> "Inventory":
        """Build from a peer's mapping, ignoring its ``capacity``. Raises InvalidStats."""
        if not isinstance(raw, Mapping) or "total" not in raw:
            raise errors.InvalidStats(what=f"inventory of {resource_class}", why="it must be a mapping with 'total'")
        fields = {key: value for key, value in raw.items() if key != "capacity"}
        unknown = fields.keys() - cls.__slots__
        if unknown:
            raise errors.InvalidStats(
                what=f"inventory of {resource_class}", why=f"it has unknown keys {sorted(unknown)}"
            )
        for key, value in fields.items():
            _check_figure(resource_class, key, value)
        inventory = cls(**fields)
        if inventory.reserved > inventory.total:
            raise errors.InvalidStats(
                what=f"inventory of {resource_class}",
                why=f"reserved {inventory.reserved} exceeds the total {inventory.total}",
            )
        if inventory.capacity > MAX_AMOUNT:
            raise errors.InvalidStats(what=f"inventory of {resource_class}", why=f"its capacity exceeds {MAX_AMOUNT}")
        return inventory


def _check_figure(resource_class: str, key: str, value: Any) -> None:
    if key == "allocation_ratio":
        valid = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= MAX_RATIO
        allowed = f"a number from 0 to {MAX_RATIO:g}"
    else:
        minimum = 0 if key in ("total", "reserved") else 1
        valid = isinstance(value, int) and not isinstance(value, bool) and minimum <= value <= MAX_AMOUNT
        allowed = f"an integer from {minimum} to {MAX_AMOUNT}"
    if not valid:
        raise errors.InvalidStats(what=f"{key} of {resource_class}", why=f"it must be {allowed}, not {value!r}")


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
