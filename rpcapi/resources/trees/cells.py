# SPDX-License-Identifier: Apache-2.0
"""Choice of host cells for a guest's cells, narrowed by the devices that must be near them."""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rpcapi.resources.numa.fit import NumaConditions
from rpcapi.resources.numa.topology import DevicePolicy
from rpcapi.resources.trees.requirements import GroupRequirement
from rpcapi.resources.trees.tree import ProviderTree

Servable = Mapping[int, int]  # provider -> how many groups of one kind it can serve


@dataclass(frozen=True, slots=True)
class DeviceKind:
    """Interchangeable device groups that must be near the guest. Providers are bit masks.

    Attributes:
        count: Number of groups.
        zones: {host cell: its zone, which is the cell itself or its socket}.
        near, gains: {zone: providers in it}, and {zone: number of groups that these can serve}.
        anywhere, base: Providers near every guest, and the number of groups that these can serve.
    """

    count: int
    zones: Mapping[int, Hashable]
    near: Mapping[Hashable, int]
    gains: Mapping[Hashable, int]
    anywhere: int
    base: int

    def reach(self, cells: Iterable[int]) -> int:
        """Return the providers near a guest on these host cells, as a bit mask."""
        reach = self.anywhere
        for cell in cells:
            reach |= self.near[self.zones[cell]]
        return reach

    def missing(self, cells: Iterable[int]) -> int:
        """Return how many groups the providers near these host cells cannot serve."""
        return self.count - self.base - sum(self.gains[zone] for zone in {self.zones[cell] for cell in cells})

    def rarity(self, cell: int) -> float:
        """Return the share of the groups near any cell that this cell's zone can serve."""
        return min(self.gains[self.zones[cell]], self.count) / (sum(self.gains.values()) or 1)


class CellRules:
    """NUMA rules of the search, which places guest cells first, because they decide which devices are near."""

    def __init__(
        self,
        tree: ProviderTree,
        ancestors: Sequence[int],
        requirements: Sequence[GroupRequirement],
        numa: NumaConditions,
        servable: Mapping[int, Servable],
    ) -> None:
        """``ancestors``: bit mask per provider, including itself. ``servable``: by kind of requirement."""
        self._numa = numa
        self._cells = {
            number: numa.cells[provider.id]
            for number, provider in enumerate(tree.providers)
            if provider.id in numa.cells
        }
        self._below = {
            cell: sum(1 << number for number, above in enumerate(ancestors) if above >> cell & 1)
            for cell in self._cells
        }
        self._other_trees = sum(1 << len(tree.providers) + number for number in range(len(tree.sharing)))
        guests = [requirement for requirement in requirements if requirement.guest_cell]
        others = requirements[len(guests) :]
        cells = sum(1 << cell for cell in self._cells)
        # Whether the guest cells' order on host cells matters: other groups may use host cells, or depend on one.
        self.is_contended = any(group.mask & cells for group in others) or any(group.subtree_rules for group in guests)
        self._device_kinds = {
            group.kind: self._device_kind(group, others, servable[group.kind])
            for group in others
            if group.is_near_guest
        }
        self._reads_sockets = any(group.device_policy is DevicePolicy.SOCKET for group in others)

    @property
    def symmetry_keys(self) -> dict[int, Hashable]:
        """Key per host cell; cells with equal keys are interchangeable except for their devices."""
        return {
            number: number if self.is_contended else cell.socket if self._reads_sockets else None
            for number, cell in self._cells.items()
        }

    def sort_cells(self, cells: Collection[int]) -> tuple[int, ...]:
        rarities = {cell: sum(kind.rarity(cell) for kind in self._device_kinds.values()) for cell in cells}
        return tuple(sorted(cells, key=rarities.__getitem__, reverse=True))

    def may_reach_devices(self, cells: Sequence[int], more: int, free: Collection[int]) -> bool:
        """Return whether ``cells`` and ``more`` of the ``free`` cells may have enough devices near them."""
        missing, gains = 0, [0] * len(free)
        for kind in self._device_kinds.values():
            count = kind.missing(cells)
            if count > 0:
                used = {kind.zones[cell] for cell in cells}
                zones = [kind.zones[cell] for cell in free]
                own_gains = [0 if zone in used else min(count, kind.gains[zone]) for zone in zones]
                if sum(sorted(own_gains, reverse=True)[:more]) < count:
                    return False
                missing += count
                gains = [sum(pair) for pair in zip(gains, own_gains, strict=True)]
        # One cell may add several kinds of devices, but no devices of other cells.
        return sum(sorted(gains, reverse=True)[:more]) >= missing

    def reach(self, cells: Iterable[int]) -> dict[int, int]:
        return {number: kind.reach(cells) for number, kind in self._device_kinds.items()}

    def __contains__(self, provider: int) -> bool:
        return provider in self._cells

    def fits(self, cell: int, guest: GroupRequirement | None, amounts: Mapping[str, int]) -> bool:
        """Return whether a host cell fits all amounts of the guest there; ``guest``: guest cell on it."""
        return self._numa.fits(self._cells[cell], guest.guest_cell if guest else None, amounts)

    def _device_kind(
        self, device: GroupRequirement, others: Sequence[GroupRequirement], servable: Servable
    ) -> DeviceKind:
        by_socket = device.device_policy is DevicePolicy.SOCKET
        zones = {number: cell.socket if by_socket else number for number, cell in self._cells.items()}
        near: dict[Hashable, int] = {}
        on_cells = 0
        for cell, zone in zones.items():
            near[zone] = near.get(zone, 0) | self._below[cell]
            on_cells |= self._below[cell]
        anywhere = self._other_trees
        if device.device_policy is DevicePolicy.LEGACY:
            anywhere |= ~on_cells

        def count(mask: int) -> int:
            return sum(groups for provider, groups in servable.items() if mask >> provider & 1)

        gains = {zone: count(mask) for zone, mask in near.items()}
        total = sum(other.kind == device.kind for other in others)
        return DeviceKind(total, zones, near, gains, anywhere, count(anywhere))
