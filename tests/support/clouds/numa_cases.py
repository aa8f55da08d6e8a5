# SPDX-License-Identifier: Apache-2.0
"""Random hosts with NUMA cells and devices, guests for them, and an oracle that tries every choice.

Half of each host is in use, so that about as many guests fit as do not.
"""

import functools
import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from rpcapi.resources.groups import ISOLATE, NONE, RequestGroup
from rpcapi.resources.numa import fit
from rpcapi.resources.numa.cells import HostCell
from rpcapi.resources.numa.fit import NumaConditions
from rpcapi.resources.numa.pinning import ThreadPolicy
from rpcapi.resources.numa.topology import DevicePolicy, GuestCell, GuestTopology
from rpcapi.resources.trees.tree import AllocationCandidate, Provider, ProviderInventory, ProviderTree, TreeRequest

ROOT = "host"
CORES = 4  # of a cell
MEMORY_MB = 8
FAST = "CUSTOM_FAST"
CARDS = ("CUSTOM_NIC", "CUSTOM_GPU", "CUSTOM_FPGA")
SCALES = (1, 1, 20)  # most units of a device group; devices have more in proportion


@dataclass
class Device:
    """Device of a host on a cell, or on none."""

    card: str
    cell: int | None
    units: int
    used: int
    traits: frozenset[str]


@dataclass
class NumaCase:
    """A host and a guest.

    ``planted``: The guest certainly fits. ``beside``: Group of the guest that competes with its cells for a host cell.
    """

    cells: list[HostCell]
    used_memory: list[int]
    devices: list[Device]
    guest: GuestTopology
    groups: list[RequestGroup]
    policy: str
    planted: bool = False
    beside: RequestGroup | None = None

    @property
    def conditions(self) -> NumaConditions:
        return NumaConditions(self.guest, {f"{ROOT}/{cell.path}": cell for cell in self.cells})

    @property
    def request(self) -> TreeRequest:
        beside = [self.beside] if self.beside else []
        return TreeRequest([RequestGroup("", {"DISK_GB": 1}), *self.groups, *beside], self.policy)

    @property
    def tree(self) -> ProviderTree:
        providers = [Provider(ROOT, None, {"DISK_GB": ProviderInventory(10)})]
        for cell, used in zip(self.cells, self.used_memory, strict=True):
            inventories = {
                "PCPU": ProviderInventory(sum(map(len, cell.cores)), len(cell.pinned)),
                "VCPU": ProviderInventory(2 * len(cell.shared)),
                "MEMORY_MB": ProviderInventory(MEMORY_MB, used),
            }
            providers.append(Provider(f"{ROOT}/{cell.path}", ROOT, inventories))
        for name, device in zip(self.device_names, self.devices, strict=True):
            parent = name.rpartition("/")[0]
            inventories = {device.card: ProviderInventory(device.units, device.used)}
            providers.append(Provider(name, parent, inventories, device.traits))
        return ProviderTree(providers)

    @property
    def device_names(self) -> list[str]:
        return [
            f"{ROOT}/{number}" if device.cell is None else f"{ROOT}/numa{device.cell}/{number}"
            for number, device in enumerate(self.devices)
        ]

    @property
    def device_groups(self) -> list[RequestGroup]:
        return self.groups[len(self.guest.cells) :]

    def takes(self, host_cell: int, guest_cell: GuestCell | None, beside: RequestGroup | None = None) -> bool:
        """Return whether one host cell alone has room for one guest cell and another group."""
        cell = self.cells[host_cell]
        amounts = Counter(beside.resources if beside else {})
        if guest_cell:
            amounts.update(_amounts(guest_cell))
        return (
            self.used_memory[host_cell] + amounts["MEMORY_MB"] <= MEMORY_MB
            and len(cell.pinned) + amounts["PCPU"] <= sum(map(len, cell.cores))
            and amounts["VCPU"] <= 2 * len(cell.shared)
            and not isinstance(fit.place(cell, self.guest, fit.CellDemand.of(cell, amounts, guest_cell)), str)
        )

    def is_near(self, device: Device, group: RequestGroup, cells: frozenset[int]) -> bool:
        match self.guest.devices.get(group.suffix, DevicePolicy.PREFERRED):
            case DevicePolicy.REQUIRED:
                return device.cell in cells
            case DevicePolicy.LEGACY:
                return device.cell is None or device.cell in cells
            case DevicePolicy.SOCKET:
                sockets = {self.cells[cell].socket for cell in cells}
                return device.cell is not None and self.cells[device.cell].socket in sockets
        return True

    def serves(self, device: Device, group: RequestGroup) -> bool:
        return device.card in group.resources and device.traits >= set(group.required)

    def is_feasible(self) -> bool:
        """Return whether the guest fits, by trying every choice of host cells and devices."""
        # Devices depend on the cells in use, not on which guest cell is where.
        suffices = functools.cache(self._devices_suffice)
        return any(self._fits_beside(cells) and suffices(frozenset(cells)) for cells in self._cell_choices(()))

    def _fits_beside(self, cells: tuple[int, ...]) -> bool:
        """Return whether the group beside the guest's cells fits, given the host cell of each."""
        guests = dict(zip(cells, self.guest.cells, strict=True))
        return self.beside is None or any(
            self.takes(number, guests.get(number), self.beside)
            for number in range(len(self.cells))
            if self.policy != ISOLATE or number not in guests
        )

    def _cell_choices(self, cells: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(cells) == len(self.guest.cells):
            yield cells
            return
        for cell in range(len(self.cells)):
            if cell not in cells and self.takes(cell, self.guest.cells[len(cells)]):
                yield from self._cell_choices((*cells, cell))

    def _devices_suffice(self, cells: frozenset[int]) -> bool:
        groups = self.device_groups
        near = [
            [
                number
                for number, device in enumerate(self.devices)
                if self.serves(device, group) and self.is_near(device, group, cells)
            ]
            for group in groups
        ]

        @functools.cache
        def suffices(index: int, used: tuple[int, ...]) -> bool:
            if index == len(groups):
                return True
            (amount,) = groups[index].resources.values()
            for number in near[index]:
                device = self.devices[number]
                is_shared = self.policy == ISOLATE and used[number]
                is_full = device.used + used[number] + amount > device.units
                later = (*used[:number], used[number] + amount, *used[number + 1 :])
                if not is_shared and not is_full and suffices(index + 1, later):
                    return True
            return False

        return suffices(0, (0,) * len(self.devices))

    def is_valid(self, candidate: AllocationCandidate) -> bool:
        """Return whether the host's agent would take a candidate: amounts, traits, and the rule by which it pins."""
        providers = {provider.id: provider for provider in self.tree.providers}
        names = {suffix: names[0] for suffix, names in candidate.providers.items()}
        amounts: dict[str, dict[str, int]] = {}
        for group in self.request.groups:
            if not set(group.required) <= (providers[names[group.suffix]].traits or set()):
                return False
            served = amounts.setdefault(names[group.suffix], {})
            for name, amount in group.resources.items():
                served[name] = served.get(name, 0) + amount
        suffixed = [name for suffix, name in names.items() if suffix]
        placements = fit.fit(
            self.cells,
            self.guest,
            {suffix: name.removeprefix(f"{ROOT}/") for suffix, name in names.items() if suffix},
            {name.removeprefix(f"{ROOT}/"): served for name, served in amounts.items()},
        )
        return (
            amounts == candidate.allocations
            and all(
                name in providers[provider].inventories
                and amount <= providers[provider].inventories[name].max_allocation
                for provider, served in amounts.items()
                for name, amount in served.items()
            )
            and (self.policy != ISOLATE or len(set(suffixed)) == len(suffixed))
            and not isinstance(placements, str)
        )


def random_case(random: Random, cells: int, most_groups: int) -> NumaCase:
    """Return a host and a guest of up to ``most_groups`` cells and devices, which may fit or not."""
    guest_cells = random.randint(1, max(1, min(cells - 1, most_groups - 1)))
    device_groups = random.randint(1, most_groups - guest_cells)
    per_socket, threads = random.choice((1, 2, 4)), random.choice((1, 2))
    fullness, scale = random.choice((0.2, 0.5, 0.8)), random.choice(SCALES)
    host_cells = [_host_cell(random, number, number // per_socket, threads, fullness) for number in range(cells)]
    memory = [random.randint(0, MEMORY_MB) if random.random() < fullness else 0 for _ in range(cells)]
    devices = [device for cell in (*range(cells), None) for device in _devices(random, cell, fullness, scale)]
    shapes = [
        (random.randint(0, 4), random.randint(0, 2), random.randint(1, 5)) for _ in range(random.choice((1, 1, 3)))
    ]
    cpu = itertools.count()
    guests, groups = [], []
    for number in range(guest_cells):
        pinned, floating, memory_mb = random.choice(shapes)
        pcpus, cpus = (tuple(next(cpu) for _ in range(count)) for count in (pinned, floating))
        guests.append(GuestCell(number, f"_numa{number}", cpus, pcpus, memory_mb))
        groups.append(RequestGroup(f"_numa{number}", _amounts(guests[-1])))
    policies = random.choices(tuple(DevicePolicy), k=random.choice((1, 1, 2)))
    cards = random.choices(CARDS, (3, 2, 1), k=random.choice((1, 2, 3)))
    near = {}
    for number in range(device_groups):
        required = (FAST,) if random.random() < 0.2 else ()
        amounts = {random.choice(cards): random.randint(1, scale)}
        groups.append(RequestGroup(f"_pci{number}", amounts, required=required))
        near[f"_pci{number}"] = random.choice(policies)
    thread_policy = random.choice((*ThreadPolicy, ThreadPolicy.PREFER))
    guest = GuestTopology(tuple(guests), "mixed", thread_policy, near)
    policy = random.choice((NONE, NONE, NONE, ISOLATE))
    beside = None
    if guest_cells <= 2 and guest_cells + device_groups < most_groups and random.random() < 0.5:
        beside = RequestGroup("_beside", {random.choice(("PCPU", "VCPU", "MEMORY_MB")): random.randint(1, 4)})
    return NumaCase(host_cells, memory, devices, guest, groups, policy, beside=beside)


def _amounts(cell: GuestCell) -> dict[str, int]:
    amounts = {"PCPU": len(cell.pcpus), "VCPU": len(cell.cpus), "MEMORY_MB": cell.memory_mb}
    return {name: amount for name, amount in amounts.items() if amount}


def planted_case(random: Random, cells: int, most_groups: int) -> NumaCase:
    """Return a random case whose host is changed as little as a random solution needs."""
    case = random_case(random, cells, most_groups)
    if case.guest.thread_policy is not ThreadPolicy.PREFER:  # a cell has a number of threads that no use changes
        threads = 1 if case.guest.thread_policy is ThreadPolicy.ISOLATE else 2
        case.cells = [_host_cell(random, cell.id, cell.socket, threads, 0.5) for cell in case.cells]
    solution = random.sample(range(cells), len(case.guest.cells))
    for number, guest_cell in zip(solution, case.guest.cells, strict=True):
        if not case.takes(number, guest_cell):
            case.used_memory[number] = 0
            cell = case.cells[number]
            case.cells[number] = _host_cell(random, number, cell.socket, cell.threads, 0)
    planted: Counter[int] = Counter()  # units that the solution uses, by the device's number
    for group in case.device_groups:
        ((card, amount),) = group.resources.items()
        fitting = [
            number
            for number, device in enumerate(case.devices)
            if case.serves(device, group) and case.is_near(device, group, frozenset(solution))
        ]
        if case.policy == ISOLATE or not fitting:
            fitting = [len(case.devices)]
            case.devices.append(Device(card, random.choice(solution), 0, 0, frozenset(group.required)))
        planted[random.choice(fitting)] += amount
    for number, units in planted.items():
        device = case.devices[number]
        device.units = max(device.units, units)
        device.used = min(device.used, device.units - units)
    case.planted, case.beside = True, None
    return case


def _host_cell(random: Random, number: int, socket: int, threads: int, fullness: float) -> HostCell:
    """Return a cell of CORES cores for pinned guests and two CPUs for others, some of them in use."""
    first = number * (CORES * threads + 2)
    cpus = range(first, first + CORES * threads)
    cores = tuple(tuple(cpus[core * threads : (core + 1) * threads]) for core in range(CORES))
    shared = frozenset((first + CORES * threads, first + CORES * threads + 1))
    share = random.random() if random.random() < fullness else 0
    pinned = frozenset(cpu for cpu in cpus if random.random() < share)
    return HostCell(number, f"numa{number}", socket, cores, shared, threads, pinned)


def _devices(random: Random, cell: int | None, fullness: float, scale: int) -> Iterator[Device]:
    for card, likely, most in zip(CARDS, (0.7, 0.3, 0.15), (4, 1, 2), strict=True):
        if random.random() < likely:
            units = random.randint(1, most * scale)
            used = random.randint(0, units) if random.random() < fullness else 0
            yield Device(card, cell, units, used, frozenset([FAST] if random.random() < 0.3 else []))
