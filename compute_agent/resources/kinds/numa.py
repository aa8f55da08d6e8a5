# SPDX-License-Identifier: Apache-2.0
"""Resource kind that pins guests' CPUs and memory pages to NUMA cells."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from os_resource_classes import MEMORY_MB, PCPU, VCPU
from oslo_config import cfg

from compute_agent.resources.kinds import flat
from compute_agent.resources.kinds.kind import Assignment, AssignmentRequest, NodeProvider, ResourceKind
from rpcapi import errors
from rpcapi.resources.inventory import Inventory
from rpcapi.resources.numa import cpu_sets
from rpcapi.resources.numa.cells import CELL_TRAIT, THREADS_TRAIT, HostCell, page_class
from rpcapi.resources.numa.fit import CellPlacement, fit


@dataclass(frozen=True, slots=True)
class NumaKind(ResourceKind):
    """NUMA cells of a shape, as on a node without guests."""

    cells: tuple[HostCell, ...]
    providers: tuple[NodeProvider, ...]

    @classmethod
    def of_shape(cls, conf: cfg.ConfigOpts, group: str) -> "NumaKind":
        """Divide the shape's CPUs and memory into cells. A kind without cells refuses guests that need them."""
        cells = _cells(conf, group)
        providers = [
            NodeProvider(cell.path, _inventories(conf, group, cell), (CELL_TRAIT, *_threads(cell.threads)))
            for cell in cells
        ]
        if cells:
            providers.append(NodeProvider("", traits=_threads(cells[0].threads)))
        return cls(tuple(cells), tuple(providers))

    def inventory(self) -> Sequence[NodeProvider]:
        return self.providers

    def concerns(self, request: AssignmentRequest) -> bool:
        return bool(request.amounts or request.requirements.topology.cells)

    def assign(self, request: AssignmentRequest, assignments: Sequence[Assignment]) -> Assignment | str:
        """Pin the guest according to the first group mapping that fits the cells."""
        topology = request.requirements.topology
        if not self.cells:
            return "the node has no NUMA cells"
        cells = self._current_cells(assignments)
        mapping: Mapping[str, str] | None = {}
        if topology.cells or topology.devices:
            feasible = next(iter(request.group_mappings(cells)), None)
            # If none is feasible, ``fit`` explains the refusal by any other mapping.
            mapping = next(iter(request.group_mappings()), None) if feasible is None else feasible
        if mapping is None:
            return "its allocations do not match its NUMA topology"
        pins = fit(cells, topology, mapping, request.node_amounts)
        return pins if isinstance(pins, str) else {"cells": [pin.as_dict() for pin in pins]}

    def report(self, assignments: Sequence[Assignment]) -> Mapping[str, Any]:
        return {"numa": [cell.as_dict() for cell in self._current_cells(assignments)]}

    def describe(self, assignment: Assignment) -> str:
        """Return, for example, 'NUMA cell 0: CPUs 0>2 1>18, 512 pages of 2048 kB' (guest CPU > host CPU)."""
        return "; ".join(_describe_pin(pin) for pin in _pins([assignment]))

    def _current_cells(self, assignments: Sequence[Assignment]) -> list[HostCell]:
        pinned: set[int] = set()  # CPUs of guests on any cell: cells may have changed since
        pages: dict[int, dict[int, int]] = {}
        for pin in _pins(assignments):
            pinned |= pin.host_cpus
            used = pages.setdefault(pin.cell, {})
            for size, count in pin.pages.items():
                used[size] = used.get(size, 0) + count
        return [
            replace(
                cell,
                shared=cell.shared - pinned,
                pinned=frozenset(cpu for core in cell.cores for cpu in core if cpu in pinned),
                used_pages=pages.get(cell.id, {}),
            )
            for cell in self.cells
        ]


def _pins(assignments: Iterable[Assignment]) -> Iterable[CellPlacement]:
    return (CellPlacement.from_dict(document) for assignment in assignments for document in assignment.get("cells", ()))


def _describe_pin(pin: CellPlacement) -> str:
    parts = []
    if pin.pins:
        parts.append("CPUs " + " ".join(f"{guest}>{host}" for guest, host in pin.pins))
    if pin.emulator:
        parts.append(f"its emulator on {cpu_sets.format_ranges(pin.emulator)}")
    if pin.floating:
        parts.append(f"CPUs {cpu_sets.format_ranges(pin.floating)} float")
    parts += [f"{count} pages of {size} kB" for size, count in pin.pages.items()]
    return f"NUMA cell {pin.cell}: " + (", ".join(parts) or "memory")


def _threads(count: int) -> tuple[str, ...]:
    return (THREADS_TRAIT,) if count > 1 else ()


def _cells(conf: cfg.ConfigOpts, group: str) -> list[HostCell]:
    values = conf[group]
    count, threads = values.numa_cells, values.threads_per_core
    if not count:
        return []
    if values.vcpus % (count * threads) or values.memory_mb % count:
        raise errors.BadConfiguration(
            why=f"[{group}] {values.vcpus} vcpus in cores of {threads} threads and {values.memory_mb} MiB cannot be "
            f"divided evenly among {count} NUMA cells"
        )
    dedicated = _cpus(group, values.cpu_dedicated_set, values.vcpus)
    cores = values.vcpus // threads
    cores_per_cell = cores // count
    pages = _pages(group, values.huge_pages)
    cells = []
    for number in range(count):
        cell_cores = [
            tuple(range(core, values.vcpus, cores))
            for core in range(number * cores_per_cell, (number + 1) * cores_per_cell)
        ]
        pinned_to = [tuple(cpu for cpu in core if cpu in dedicated) for core in cell_cores]
        cells.append(
            HostCell(
                number,
                f"numa{number}",
                number // values.numa_cells_per_socket,
                tuple(core for core in pinned_to if core),
                frozenset(cpu for core in cell_cores for cpu in core) - dedicated,
                threads,
                pages=pages,
            )
        )
    return cells


def _cpus(group: str, text: str, count: int) -> frozenset[int]:
    try:
        cpus = cpu_sets.parse(text)
    except ValueError as error:
        raise errors.BadConfiguration(why=f"[{group}] cpu_dedicated_set: {error}") from error
    if any(cpu >= count for cpu in cpus):
        raise errors.BadConfiguration(why=f"[{group}] cpu_dedicated_set has CPU {max(cpus)} of {count} vcpus")
    return cpus


def _pages(group: str, page_counts: Mapping[str, int]) -> dict[int, int]:
    for size in page_counts:
        if not (size.isascii() and size.isdigit() and int(size)) or (int(size) % 1024 and 1024 % int(size)):
            raise errors.BadConfiguration(
                why=f"[{group}] huge_pages: {size!r} must be a size in kB that is a multiple or a divisor of 1024"
            )
    return {int(size): count for size, count in page_counts.items()}


def _inventories(conf: cfg.ConfigOpts, group: str, cell: HostCell) -> dict[str, Inventory]:
    """Return the cell's inventories. max_unit is the total: overcommit cannot serve a single guest."""
    values = conf[group]
    huge = {size: size * count // 1024 for size, count in cell.pages.items()}
    memory = values.memory_mb // values.numa_cells - sum(huge.values())
    if memory < 0:
        raise errors.BadConfiguration(why=f"[{group}] huge_pages exceed the memory of a NUMA cell by {-memory} MiB")
    totals = {
        VCPU: {
            "total": len(cell.shared),
            "reserved": _share_of_cell(values.reserved_vcpus, values.numa_cells, cell.id),
            "allocation_ratio": values.cpu_allocation_ratio,
        },
        PCPU: {"total": sum(len(core) for core in cell.cores)},
        MEMORY_MB: {
            "total": memory,
            "reserved": _share_of_cell(values.reserved_memory_mb, values.numa_cells, cell.id),
            "allocation_ratio": values.ram_allocation_ratio,
        },
    }
    for size, amount in huge.items():
        step = max(1, size // 1024)
        totals[page_class(size)] = {"total": amount, "min_unit": step, "step_size": step}
    return {
        name: flat.inventory(group, name, max_unit=fields["total"], **fields)
        for name, fields in totals.items()
        if fields["total"]
    }


def _share_of_cell(amount: int, parts: int, number: int) -> int:
    return amount // parts + (number < amount % parts)
