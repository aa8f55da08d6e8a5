# SPDX-License-Identifier: Apache-2.0
"""Devices assigned by unit: functions of PCI devices, parts of accelerators."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oslo_config import cfg

from compute_agent.resources.kinds.kind import Assignment, AssignmentRequest, NodeProvider, ResourceKind
from rpcapi import errors

_DEVICE_ITEM = re.compile(r"([^:@]+):([1-9][0-9]{0,3})(?:@([0-9]{1,2}))?")


@dataclass(frozen=True, slots=True)
class UnitKind(ResourceKind):
    """Kind whose providers have one resource class, assigned by named units: {path: (unit, ...)}."""

    providers: tuple[NodeProvider, ...]
    units: Mapping[str, tuple[str, ...]]

    def inventory(self) -> Sequence[NodeProvider]:
        return self.providers

    def assign(self, request: AssignmentRequest, assignments: Sequence[Assignment]) -> Assignment | str:
        # Keyed by device name, not path: assignments stay valid when the device moves to another cell.
        used_units: dict[str, set[str]] = {}
        for assignment in assignments:
            for path, units in assignment.get("units", {}).items():
                used_units.setdefault(_device_name(path), set()).update(units)
        assigned_units: dict[str, list[str]] = {}
        for path, amounts in request.amounts.items():
            name = _device_name(path)
            used = used_units.get(name, set())
            free = [unit for unit in self.units[path] if unit not in used]
            # A unit with the device's name is the whole device. A guest keeps it when its functions change.
            if used and name in used.union(self.units[path]):
                free = []
            amount = sum(amounts.values())
            if amount > len(free):
                return f"device {path} has {len(free)} of {len(self.units[path])} units free, but {amount} are required"
            assigned_units[path] = free[:amount]
        return {"units": assigned_units}

    def describe(self, assignment: Assignment) -> str:
        """Describe the units, such as 'numa0/0000:01:00.0: 0000:01:00.1'."""
        return "; ".join(f"{path}: {' '.join(units)}" for path, units in assignment["units"].items())


def _device_name(path: str) -> str:
    return path.rpartition("/")[2]


def parse_devices(conf: cfg.ConfigOpts, group: str, option: str, prefix: str) -> Iterator[tuple[str, str, int]]:
    """Yield (config group, parent path, number from 0) for each device of a shape's option.

    Raises BadConfiguration unless items are NAME:COUNT or NAME:COUNT@CELL with known names and cells.
    """
    sections = {section for section in conf.list_all_sections() if section.startswith(prefix)}
    cells = conf[group].numa_cells
    numbers = itertools.count()
    for item in conf[group][option]:
        match = _DEVICE_ITEM.fullmatch(item)
        if match is None:
            raise errors.BadConfiguration(why=f"[{group}] {option}: {item!r} is not NAME:COUNT or NAME:COUNT@CELL")
        name, count, cell = match.groups()
        if prefix + name not in sections:
            raise errors.BadConfiguration(why=f"[{group}] {option}: there is no group [{prefix}{name}] in the file")
        if cell is not None and int(cell) >= cells:
            raise errors.BadConfiguration(
                why=f"[{group}] {option}: {item!r} names a missing cell: the node has {cells}"
            )
        for _ in range(int(count)):
            yield prefix + name, "" if cell is None else f"numa{int(cell)}", next(numbers)


def device_provider(parent: str, name: str, **values: Any) -> NodeProvider:
    return NodeProvider(f"{parent}/{name}" if parent else name, parent=parent, **values)
