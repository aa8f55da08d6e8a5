# SPDX-License-Identifier: Apache-2.0
"""Whether and how a guest's topology lies on a host's cells.

Whoever decides and whoever pins follow this one rule: the scheduler on the cells' state as it was reported, the agent
on what it holds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from os_resource_classes import PCPU, VCPU

from rpcapi.model.numa import pinning
from rpcapi.model.numa.cells import Cell, page_class, pages_of
from rpcapi.model.numa.topology import DevicePolicy, GuestCell, Topology


@dataclass(frozen=True, slots=True)
class Demand:
    """What a claim holds of one host cell, and for which of the guest's cells (None: for no one of them)."""

    pcpus: int = 0
    cpus: int = 0
    pages: Mapping[int, int] = field(default_factory=dict)  # size in kB -> how many
    guest: GuestCell | None = None


@dataclass(frozen=True, slots=True)
class Pin:
    """How a demand lies on its host cell.

    ``pins`` has (guest CPU, host CPU), ``emulator`` the host CPUs beyond the guest's own, which its emulator gets,
    ``floating`` the guest CPUs that float.
    """

    cell: int
    guest: int | None = None
    pins: tuple[tuple[int, int], ...] = ()
    emulator: tuple[int, ...] = ()
    floating: tuple[int, ...] = ()
    pages: Mapping[int, int] = field(default_factory=dict)

    @property
    def host_cpus(self) -> frozenset[int]:
        """Return the host CPUs that are this guest's alone."""
        return frozenset({host for _, host in self.pins} | set(self.emulator))

    def as_dict(self) -> dict[str, Any]:
        """Return the form that the journal carries."""
        return {
            "cell": self.cell,
            "guest": self.guest,
            "pins": [list(pair) for pair in self.pins],
            "emulator": list(self.emulator),
            "floating": list(self.floating),
            "pages": {str(size): count for size, count in self.pages.items()},
        }

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> "Pin":
        """Read what ``as_dict`` returns; raises KeyError, TypeError and ValueError for what is none."""
        return cls(
            told["cell"],
            told["guest"],
            tuple((guest, host) for guest, host in told["pins"]),
            tuple(told["emulator"]),
            tuple(told["floating"]),
            {int(size): count for size, count in told["pages"].items()},
        )


def fit(
    cells: Sequence[Cell], guest: Topology, chosen: Mapping[str, str], held: Mapping[str, Mapping[str, int]]
) -> list[Pin] | str:
    """Return how an allocation lies on the host cells it touches beside what is in use, or a sentence why not.

    ``held`` is what it holds by a provider's path below the node, {path: {class: amount}}; ``chosen`` has the path
    that serves each request group which the topology names.
    """
    wanted = list(_demands(cells, guest, chosen, held))
    served = {demand.guest.id for _, demand in wanted if demand.guest is not None}
    for each in guest.cells:
        if each.id not in served:
            return f"cell {each.id} of the guest has no NUMA cell of the host for itself"
    pins = []
    for cell, demand in wanted:
        got = _lay(cell, guest, demand)
        if isinstance(got, str):
            return f"NUMA cell {cell.id}: {got}"
        pins.append(got)
    return _far_device(cells, guest, chosen, {cell.id for cell, demand in wanted if demand.guest is not None}) or pins


def _demands(
    cells: Iterable[Cell], guest: Topology, chosen: Mapping[str, str], held: Mapping[str, Mapping[str, int]]
) -> Iterator[tuple[Cell, Demand]]:
    """Yield what is held of each host cell. One that two groups chose is the first one's: the other has none."""
    served: dict[str, GuestCell] = {}
    for each in guest.cells:
        if each.group in chosen:
            served.setdefault(chosen[each.group], each)
    for cell in cells:
        amounts = held.get(cell.path, {})
        if amounts or cell.path in served:
            classes = {size: page_class(size) for size in cell.pages}
            pages = {size: pages_of(size, amounts[name]) for size, name in classes.items() if name in amounts}
            yield cell, Demand(amounts.get(PCPU, 0), amounts.get(VCPU, 0), pages, served.get(cell.path))


def _far_device(cells: Sequence[Cell], guest: Topology, chosen: Mapping[str, str], used: set[int]) -> str | None:
    """Return a sentence about the first device that is not as near to the guest's cells as its policy wants."""
    sockets = {cell.socket for cell in cells if cell.id in used}
    for group, policy in guest.devices.items():
        if policy is DevicePolicy.PREFERRED or group not in chosen:
            continue
        cell = next((each for each in cells if chosen[group].startswith(f"{each.path}/")), None)
        if cell is None:
            near = policy is DevicePolicy.LEGACY
        else:
            near = cell.socket in sockets if policy is DevicePolicy.SOCKET else cell.id in used
        if not near:
            where = "no NUMA cell" if cell is None else f"NUMA cell {cell.id}"
            return f"the device of group {group} is on {where}, too far from the guest's for the policy '{policy}'"
    return None


def _lay(cell: Cell, guest: Topology, demand: Demand) -> Pin | str:
    own = demand.guest
    floating = own.cpus if own else tuple(range(demand.cpus))
    if len(floating) > len(cell.shared):
        return f"{len(floating)} CPUs of one guest cannot float over {len(cell.shared)}"
    for size, count in demand.pages.items():
        left = cell.pages[size] - cell.used_pages.get(size, 0)
        if count > left:
            return f"it has {left} free pages of {size} kB, not {count}"
    named = own.pcpus if own else tuple(range(demand.pcpus))
    if len(named) > demand.pcpus:
        return f"{len(named)} CPUs are to be pinned, but {demand.pcpus} PCPU are claimed"
    if not demand.pcpus:
        return Pin(cell.id, own.id if own else None, floating=floating, pages=demand.pages)
    got = pinning.choose(cell.free, cell.threads, demand.pcpus, guest.thread_policy)
    if isinstance(got, str):
        return f"{demand.pcpus} CPUs to pin to: {got}"
    pins = tuple(zip(named, got, strict=False))
    return Pin(cell.id, own.id if own else None, pins, got[len(named) :], floating, demand.pages)
