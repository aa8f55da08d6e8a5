# SPDX-License-Identifier: Apache-2.0
"""Fit of a guest's NUMA topology on host cells: reported cells in the scheduler, own cells in the agent."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from os_resource_classes import PCPU, VCPU

from rpcapi.resources.numa import pinning
from rpcapi.resources.numa.cells import HostCell, count_pages, page_class
from rpcapi.resources.numa.topology import DevicePolicy, GuestCell, GuestTopology


@dataclass(frozen=True, slots=True)
class CellDemand:
    """Amounts that a guest claims from one host cell, with its guest cell there, if any."""

    pcpus: int = 0
    cpus: int = 0
    pages: Mapping[int, int] = field(default_factory=dict)  # size in kB -> number
    guest: GuestCell | None = None

    @classmethod
    def of(cls, cell: HostCell, amounts: Mapping[str, int], guest_cell: GuestCell | None) -> "CellDemand":
        classes = {size: page_class(size) for size in cell.pages}
        pages = {size: count_pages(size, amounts[name]) for size, name in classes.items() if name in amounts}
        return cls(amounts.get(PCPU, 0), amounts.get(VCPU, 0), pages, guest_cell)


@dataclass(frozen=True, slots=True)
class CellPlacement:
    """Placed CellDemand: ``pins`` are (guest CPU, host CPU), ``emulator`` host CPUs, ``floating`` guest CPUs."""

    cell: int
    guest: int | None = None
    pins: tuple[tuple[int, int], ...] = ()
    emulator: tuple[int, ...] = ()
    floating: tuple[int, ...] = ()
    pages: Mapping[int, int] = field(default_factory=dict)

    @property
    def host_cpus(self) -> frozenset[int]:
        return frozenset({host for _, host in self.pins} | set(self.emulator))

    def as_dict(self) -> dict[str, Any]:
        return {
            "cell": self.cell,
            "guest": self.guest,
            "pins": [list(pair) for pair in self.pins],
            "emulator": list(self.emulator),
            "floating": list(self.floating),
            "pages": {str(size): count for size, count in self.pages.items()},
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "CellPlacement":
        """Invert ``as_dict``. Raises KeyError, TypeError or ValueError."""
        return cls(
            fields["cell"],
            fields["guest"],
            tuple((guest, host) for guest, host in fields["pins"]),
            tuple(fields["emulator"]),
            tuple(fields["floating"]),
            {int(size): count for size, count in fields["pages"].items()},
        )


def fit(
    cells: Sequence[HostCell],
    guest: GuestTopology,
    group_paths: Mapping[str, str],
    amounts_by_path: Mapping[str, Mapping[str, int]],
) -> list[CellPlacement] | str:
    """Return the placement of an allocation on the host cells, or why it does not fit.

    ``group_paths``: {request group: provider path}. ``amounts_by_path``: {provider path: {class: amount}}.
    """
    demands = list(_demands(cells, guest, group_paths, amounts_by_path))
    served = {demand.guest.id for _, demand in demands if demand.guest is not None}
    for guest_cell in guest.cells:
        if guest_cell.id not in served:
            return f"cell {guest_cell.id} of the guest needs a NUMA cell of the host to itself"
    placements = []
    for cell, demand in demands:
        placement = place(cell, guest, demand)
        if isinstance(placement, str):
            return f"NUMA cell {cell.id}: {placement}"
        placements.append(placement)
    return (
        _far_device(cells, guest, group_paths, {cell.id for cell, demand in demands if demand.guest is not None})
        or placements
    )


def _demands(
    cells: Iterable[HostCell],
    guest: GuestTopology,
    group_paths: Mapping[str, str],
    amounts_by_path: Mapping[str, Mapping[str, int]],
) -> Iterator[tuple[HostCell, CellDemand]]:
    """Yield (host cell, demand). A host cell of two groups serves only the first."""
    served: dict[str, GuestCell] = {}
    for guest_cell in guest.cells:
        if guest_cell.group in group_paths:
            served.setdefault(group_paths[guest_cell.group], guest_cell)
    for cell in cells:
        amounts = amounts_by_path.get(cell.path, {})
        if amounts or cell.path in served:
            yield cell, CellDemand.of(cell, amounts, served.get(cell.path))


def _far_device(
    cells: Sequence[HostCell], guest: GuestTopology, group_paths: Mapping[str, str], used: set[int]
) -> str | None:
    sockets = {cell.socket for cell in cells if cell.id in used}
    for group, policy in guest.devices.items():
        if policy is DevicePolicy.PREFERRED or group not in group_paths:
            continue
        cell = next((cell for cell in cells if f"{group_paths[group]}/".startswith(f"{cell.path}/")), None)
        if cell is None:
            near = policy is DevicePolicy.LEGACY
        else:
            near = cell.socket in sockets if policy is DevicePolicy.SOCKET else cell.id in used
        if not near:
            where = "no NUMA cell" if cell is None else f"NUMA cell {cell.id}"
            return f"the device of group {group} is on {where}, which violates the NUMA policy '{policy}'"
    return None


def place(cell: HostCell, guest: GuestTopology, demand: CellDemand) -> CellPlacement | str:
    guest_cell = demand.guest
    floating = guest_cell.cpus if guest_cell else tuple(range(demand.cpus))
    if len(floating) > len(cell.shared):
        return f"{len(floating)} floating CPUs of one guest need as many shared CPUs; the cell has {len(cell.shared)}"
    for size, count in demand.pages.items():
        free_pages = cell.pages[size] - cell.used_pages.get(size, 0)
        if count > free_pages:
            return f"it has {free_pages} free pages of {size} kB, not {count}"
    pinned_cpus = guest_cell.pcpus if guest_cell else tuple(range(demand.pcpus))
    if len(pinned_cpus) > demand.pcpus:
        return f"{len(pinned_cpus)} CPUs must be pinned, but {demand.pcpus} PCPU are claimed"
    if not demand.pcpus:
        return CellPlacement(cell.id, guest_cell.id if guest_cell else None, floating=floating, pages=demand.pages)
    host_cpus = pinning.choose_cpus(cell.free, cell.threads, demand.pcpus, guest.thread_policy)
    if isinstance(host_cpus, str):
        return f"{demand.pcpus} dedicated CPUs: {host_cpus}"
    pins = tuple(zip(pinned_cpus, host_cpus, strict=False))
    return CellPlacement(
        cell.id, guest_cell.id if guest_cell else None, pins, host_cpus[len(pinned_cpus) :], floating, demand.pages
    )


@dataclass(frozen=True, slots=True)
class NumaConditions:
    guest: GuestTopology
    cells: Mapping[str, HostCell]

    def fits(self, cell: HostCell, guest_cell: GuestCell | None, amounts: Mapping[str, int]) -> bool:
        """Return whether ``cell`` fits ``guest_cell`` (None: no cell) and all amounts that the guest claims there."""
        return not isinstance(place(cell, self.guest, CellDemand.of(cell, amounts, guest_cell)), str)
