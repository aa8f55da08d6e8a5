# SPDX-License-Identifier: Apache-2.0
"""Devices of which a guest gets certain ones: functions of PCI devices, parts of accelerators."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oslo_config import cfg

from compute_agent.kinds.kind import Asked, Assignment, Below, ResourceKind
from rpcapi import errors

_PLACED = re.compile(r"([^:@]+):([1-9][0-9]{0,3})(?:@([0-9]{1,2}))?")


@dataclass(frozen=True, slots=True)
class UnitKind(ResourceKind):
    """Providers whose one class is counted in units, each with a name: {path: (unit, ...)}."""

    below: tuple[Below, ...]
    units: Mapping[str, tuple[str, ...]]

    def inventory(self) -> Sequence[Below]:
        """Return a provider for each physical device."""
        return self.below

    def assign(self, asked: Asked, taken: Sequence[Assignment]) -> Assignment | str:
        """Give the first units that nobody has."""
        gone: dict[str, set[str]] = {}  # by the device's own name: guests outlive a change of the cells it is below
        for assignment in taken:
            for path, units in assignment.get("units", {}).items():
                gone.setdefault(_name(path), set()).update(units)
        given: dict[str, list[str]] = {}
        for path, amounts in asked.amounts.items():
            free = [unit for unit in self.units[path] if unit not in gone.get(_name(path), ())]
            amount = sum(amounts.values())
            if amount > len(free):
                return f"device {path} has {len(free)} of {len(self.units[path])} units free, not {amount}"
            given[path] = free[:amount]
        return {"units": given}

    def describe(self, assignment: Assignment) -> str:
        """Return the units, such as 'numa0/0000:01:00.0: 0000:01:00.1'."""
        return "; ".join(f"{path}: {' '.join(units)}" for path, units in assignment["units"].items())


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def placed(conf: cfg.ConfigOpts, group: str, option: str, prefix: str) -> Iterator[tuple[str, str, int]]:
    """Yield (group of the device, path of its parent, number from 0) for each device that a shape's option names.

    Raises BadConfiguration for an item that is not NAME:COUNT or NAME:COUNT@CELL, or names what is not there.
    """
    known = {section for section in conf.list_all_sections() if section.startswith(prefix)}
    cells = conf[group].numa_cells
    numbers = itertools.count()
    for item in conf[group][option]:
        found = _PLACED.fullmatch(item)
        if found is None:
            raise errors.BadConfiguration(why=f"[{group}] {option}: {item!r} is not NAME:COUNT or NAME:COUNT@CELL")
        name, count, cell = found.groups()
        if prefix + name not in known:
            raise errors.BadConfiguration(why=f"[{group}] {option}: there is no group [{prefix}{name}] in the file")
        if cell is not None and int(cell) >= cells:
            raise errors.BadConfiguration(why=f"[{group}] {option}: {item!r} is on a cell of which there are {cells}")
        for _ in range(int(count)):
            yield prefix + name, "" if cell is None else f"numa{int(cell)}", next(numbers)


def below(parent: str, name: str, **values: Any) -> Below:
    """Return the provider of a device of this name below its parent's path."""
    return Below(f"{parent}/{name}" if parent else name, parent=parent, **values)
