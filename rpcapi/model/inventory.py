# SPDX-License-Identifier: Apache-2.0
"""Inventory of one resource class at one provider, and what it can carry."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from rpcapi import errors

MAX_AMOUNT = 2**31 - 1  # Placement's ceiling for an integer amount
MAX_RATIO = 10_000.0


def capacity(total: int, reserved: int, allocation_ratio: float) -> int:
    """Return floor((total - reserved) * allocation_ratio), exact in decimal.

    A binary product loses: 100 * 1.15 is 114.999... and would sell one unit less than configured.
    """
    return math.floor((total - reserved) * Decimal(repr(float(allocation_ratio))))


@dataclass(frozen=True, slots=True)
class Inventory:
    """What a provider holds of one resource class, shaped as in Placement."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = MAX_AMOUNT
    step_size: int = 1
    allocation_ratio: float = 1.0

    @property
    def capacity(self) -> int:
        """How much live claims may hold in sum."""
        return capacity(self.total, self.reserved, self.allocation_ratio)

    def as_dict(self) -> dict[str, Any]:
        """Return the stored form: the six given figures and the capacity computed from them."""
        return asdict(self) | {"capacity": self.capacity}

    @classmethod
    def from_dict(cls, resource_class: str, raw: Any) -> "Inventory":
        """Build from a peer's mapping; a stored ``capacity`` is recomputed, never trusted.

        Raises InvalidStats, naming the class and the figure, when a figure is missing, unknown or impossible.
        """
        if not isinstance(raw, Mapping) or "total" not in raw:
            raise errors.InvalidStats(what=f"inventory of {resource_class}", why="it must be a mapping with 'total'")
        given = {key: value for key, value in raw.items() if key != "capacity"}
        unknown = given.keys() - cls.__slots__
        if unknown:
            raise errors.InvalidStats(
                what=f"inventory of {resource_class}", why=f"it has unknown keys {sorted(unknown)}"
            )
        for key, value in given.items():
            _check_figure(resource_class, key, value)
        found = cls(**given)
        if found.reserved > found.total:
            raise errors.InvalidStats(
                what=f"inventory of {resource_class}",
                why=f"reserved {found.reserved} is more than the total {found.total}",
            )
        if found.capacity > MAX_AMOUNT:
            raise errors.InvalidStats(what=f"inventory of {resource_class}", why=f"its capacity passes {MAX_AMOUNT}")
        return found


def _check_figure(resource_class: str, key: str, value: Any) -> None:
    if key == "allocation_ratio":
        good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= MAX_RATIO
        wanted = f"a number from 0 to {MAX_RATIO:g}"
    else:
        least = 0 if key in ("total", "reserved") else 1
        good = isinstance(value, int) and not isinstance(value, bool) and least <= value <= MAX_AMOUNT
        wanted = f"an integer from {least} to {MAX_AMOUNT}"
    if not good:
        raise errors.InvalidStats(what=f"{key} of {resource_class}", why=f"it must be {wanted}, not {value!r}")
