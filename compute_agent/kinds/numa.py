# SPDX-License-Identifier: Apache-2.0
"""NUMA cells: which CPUs a guest is pinned to, which pages it has."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from os_resource_classes import MEMORY_MB, PCPU, VCPU
from oslo_config import cfg

from compute_agent.kinds import flat
from compute_agent.kinds.kind import Asked, Assignment, Below, ResourceKind
from rpcapi import errors
from rpcapi.model.inventory import Inventory
from rpcapi.model.numa import cpu_sets
from rpcapi.model.numa.cells import THREADS_TRAIT, TRAIT, Cell, page_class
from rpcapi.model.numa.fit import Pin, fit


@dataclass(frozen=True, slots=True)
class NumaKind(ResourceKind):
    """The cells of the nodes of one shape, with nothing of them in use, and what each has."""

    cells: tuple[Cell, ...]
    below: tuple[Below, ...]

    @classmethod
    def of_shape(cls, conf: cfg.ConfigOpts, group: str) -> "NumaKind":
        """Part the CPUs and the memory of a shape; one without cells is there to refuse guests that want them."""
        cells = _cells(conf, group)
        below = [Below(cell.path, _inventories(conf, group, cell), (TRAIT, *_threads(cell.threads))) for cell in cells]
        if cells:
            below.append(Below("", traits=_threads(cells[0].threads)))
        return cls(tuple(cells), tuple(below))

    def inventory(self) -> Sequence[Below]:
        """Return a provider for each cell."""
        return self.below

    def concerns(self, asked: Asked) -> bool:
        """Tell whether a guest takes something of a cell, or wants cells."""
        return bool(asked.amounts or asked.wish.topology.cells)

    def assign(self, asked: Asked, taken: Sequence[Assignment]) -> Assignment | str:
        """Pin the guest by the first way to read its claim that can be."""
        topology = asked.wish.topology
        if not self.cells:
            return "the node has no NUMA cells"
        cells = self._now(taken)
        refusal: str | None = None
        for served in asked.ways() if topology.cells or topology.devices else [{}]:
            got = fit(cells, topology, served, asked.held)
            if not isinstance(got, str):
                return {"cells": [pin.as_dict() for pin in got]}
            refusal = refusal or got
        return refusal or "what it holds is not what its NUMA topology asks for"

    def report(self, taken: Sequence[Assignment]) -> Mapping[str, Any]:
        """Return the cells as they are."""
        return {"numa": [cell.as_dict() for cell in self._now(taken)]}

    def describe(self, assignment: Assignment) -> str:
        """Return where the guest lies, such as 'NUMA cell 0: CPUs 0>2 1>18, 512 pages of 2048 kB'."""
        return "; ".join(_words(pin) for pin in _pins([assignment]))

    def _now(self, taken: Sequence[Assignment]) -> list[Cell]:
        pinned: set[int] = set()  # whatever cell they were in: guests outlive a change of the cells
        pages: dict[int, dict[int, int]] = {}
        for pin in _pins(taken):
            pinned |= pin.host_cpus
            used = pages.setdefault(pin.cell, {})
            for size, count in pin.pages.items():
                used[size] = used.get(size, 0) + count
        return [
            replace(
                cell,
                pinned=frozenset(cpu for core in cell.cores for cpu in core if cpu in pinned),
                used_pages=pages.get(cell.id, {}),
            )
            for cell in self.cells
        ]


def _pins(taken: Iterable[Assignment]) -> Iterable[Pin]:
    return (Pin.from_dict(told) for assignment in taken for told in assignment.get("cells", ()))


def _words(pin: Pin) -> str:
    parts = []
    if pin.pins:
        parts.append("CPUs " + " ".join(f"{guest}>{host}" for guest, host in pin.pins))
    if pin.emulator:
        parts.append(f"its emulator on {cpu_sets.told(pin.emulator)}")
    if pin.floating:
        parts.append(f"CPUs {cpu_sets.told(pin.floating)} float")
    parts += [f"{count} pages of {size} kB" for size, count in pin.pages.items()]
    return f"NUMA cell {pin.cell}: " + (", ".join(parts) or "memory")


def _threads(count: int) -> tuple[str, ...]:
    return (THREADS_TRAIT,) if count > 1 else ()


def _cells(conf: cfg.ConfigOpts, group: str) -> list[Cell]:
    values = conf[group]
    count, threads = values.numa_cells, values.threads_per_core
    if not count:
        return []
    if values.vcpus % (count * threads) or values.memory_mb % count:
        raise errors.BadConfiguration(
            why=f"[{group}] {values.vcpus} vcpus in cores of {threads} threads and {values.memory_mb} MiB cannot be "
            f"parted evenly among {count} NUMA cells"
        )
    dedicated = _cpus(group, values.cpu_dedicated_set, values.vcpus)
    cores = values.vcpus // threads
    each = cores // count
    pages = _pages(group, values.huge_pages)
    cells = []
    for number in range(count):
        here = [tuple(range(core, values.vcpus, cores)) for core in range(number * each, (number + 1) * each)]
        pinned_to = [tuple(cpu for cpu in core if cpu in dedicated) for core in here]
        cells.append(
            Cell(
                number,
                f"numa{number}",
                number // values.numa_cells_per_socket,
                tuple(core for core in pinned_to if core),
                frozenset(cpu for core in here for cpu in core) - dedicated,
                threads,
                pages=pages,
            )
        )
    return cells


def _cpus(group: str, text: str, count: int) -> frozenset[int]:
    try:
        found = cpu_sets.parse(text)
    except ValueError as error:
        raise errors.BadConfiguration(why=f"[{group}] cpu_dedicated_set: {error}") from error
    if any(cpu >= count for cpu in found):
        raise errors.BadConfiguration(why=f"[{group}] cpu_dedicated_set names CPU {max(found)} of {count} vcpus")
    return found


def _pages(group: str, told: Mapping[str, int]) -> dict[int, int]:
    for size in told:
        if not (size.isascii() and size.isdigit() and int(size)) or (int(size) % 1024 and 1024 % int(size)):
            raise errors.BadConfiguration(
                why=f"[{group}] huge_pages: {size!r} must be a size in kB that is a multiple of 1024, or divides it"
            )
    return {int(size): count for size, count in told.items()}


def _inventories(conf: cfg.ConfigOpts, group: str, cell: Cell) -> dict[str, Inventory]:
    """Return what a cell has. A guest is never given more of a class than is there: it cannot overcommit itself."""
    values = conf[group]
    huge = {size: size * count // 1024 for size, count in cell.pages.items()}
    memory = values.memory_mb // values.numa_cells - sum(huge.values())
    if memory < 0:
        raise errors.BadConfiguration(why=f"[{group}] huge_pages are {-memory} MiB more than a NUMA cell's memory")
    totals = {
        VCPU: {
            "total": len(cell.shared),
            "reserved": _part(values.reserved_vcpus, values.numa_cells, cell.id),
            "allocation_ratio": values.cpu_allocation_ratio,
        },
        PCPU: {"total": sum(len(core) for core in cell.cores)},
        MEMORY_MB: {
            "total": memory,
            "reserved": _part(values.reserved_memory_mb, values.numa_cells, cell.id),
            "allocation_ratio": values.ram_allocation_ratio,
        },
    }
    for size, amount in huge.items():
        step = max(1, size // 1024)
        totals[page_class(size)] = {"total": amount, "min_unit": step, "step_size": step}
    return {
        name: flat.inventory(group, name, max_unit=figures["total"], **figures)
        for name, figures in totals.items()
        if figures["total"]
    }


def _part(amount: int, parts: int, number: int) -> int:
    return amount // parts + (number < amount % parts)
