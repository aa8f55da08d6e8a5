# SPDX-License-Identifier: Apache-2.0
"""Choice of host cells for a guest's cells, narrowed by the devices that must be near them."""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rpcapi.resources.numa.conditions import NumaConditions
from rpcapi.resources.numa.topology import DevicePolicy
from rpcapi.resources.trees.requirements import GroupRequirement
from rpcapi.resources.trees.tree import ProviderTree

Servable = Mapping[int, int]  # provider -> how many groups of one kind it can serve


@dataclass(frozen=True, slots=True)
class DeviceKind:
    """Interchangeable device groups that must be near the guest.

    Attributes:
        count: Number of the groups.
        zones: Zone of each host cell: the cell itself, or its socket.
        near: Providers near the cells of a zone, as a bit mask.
        gains: Number of the groups that these providers can serve.
        anywhere: Providers that are near any guest, as a bit mask.
        base: Number of the groups that these providers can serve.
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
        """Return the number of groups that the providers near these host cells cannot serve."""
        return self.count - self.base - sum(self.gains[zone] for zone in {self.zones[cell] for cell in cells})

    def rarity(self, cell: int) -> float:
        """Return the share of a cell in the groups that the providers on all cells can serve."""
        return min(self.gains[self.zones[cell]], self.count) / (sum(self.gains.values()) or 1)


class CellRules:
    """Rules of a guest's topology for providers, which are numbered as in the search.

    The search places the guest's cells first, because they decide which devices are near.
    """

    def __init__(
        self,
        tree: ProviderTree,
        ancestors: Sequence[int],
        requirements: Sequence[GroupRequirement],
        numa: NumaConditions,
        servable: Mapping[int, Servable],
    ) -> None:
        """``ancestors``: Bit mask of each provider, including itself. ``servable``: By kind of requirement."""
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
        # Whether it matters which guest cell is on which host cell: other groups may use host cells, or depend on one.
        self.is_contended = any(group.mask & cells for group in others) or any(group.subtree_rules for group in guests)
        self._device_kinds = {
            group.kind: self._device_kind(group, others, servable[group.kind])
            for group in others
            if group.is_near_guest
        }
        self._reads_sockets = any(group.device_policy is DevicePolicy.SOCKET for group in others)

    @property
    def symmetry_keys(self) -> dict[int, Hashable]:
        """Keys of the host cells; cells with equal keys differ at most in the devices below them."""
        return {
            number: number if self.is_contended else cell.socket if self._reads_sockets else None
            for number, cell in self._cells.items()
        }

    def sort_cells(self, cells: Collection[int]) -> tuple[int, ...]:
        """Return host cells with rare devices first."""
        rarities = {cell: sum(kind.rarity(cell) for kind in self._device_kinds.values()) for cell in cells}
        return tuple(sorted(cells, key=rarities.__getitem__, reverse=True))

    def may_reach_devices(self, cells: Sequence[int], more: int, free: Collection[int]) -> bool:
        """Return whether enough devices may be near a guest on these host cells and ``more`` of the free ones."""
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
        # A cell may bring several kinds of devices, but not those of several cells.
        return sum(sorted(gains, reverse=True)[:more]) >= missing

    def reach(self, cells: Iterable[int]) -> dict[int, int]:
        """Return the providers near a guest on these host cells, as a bit mask, by kind of device."""
        return {number: kind.reach(cells) for number, kind in self._device_kinds.items()}

    def __contains__(self, provider: int) -> bool:
        return provider in self._cells

    def fits(self, cell: int, guest: GroupRequirement | None, amounts: Mapping[str, int]) -> bool:
        """Return whether a host cell has room for all amounts of the guest there; ``guest``: Its cell, if any."""
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
