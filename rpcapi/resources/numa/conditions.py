# SPDX-License-Identifier: Apache-2.0
"""Conditions of a guest's NUMA topology on the cells of one host, for searches in the host's provider tree."""

from collections.abc import Mapping
from dataclasses import dataclass

from rpcapi.resources.numa.cells import HostCell
from rpcapi.resources.numa.fit import CellDemand, place
from rpcapi.resources.numa.topology import GuestCell, GuestTopology


@dataclass(frozen=True, slots=True)
class NumaConditions:
    """A guest's topology, and the cells of a host by provider."""

    guest: GuestTopology
    cells: Mapping[str, HostCell]

    def fits(self, cell: HostCell, guest_cell: GuestCell | None, amounts: Mapping[str, int]) -> bool:
        """Return whether a host cell can place a guest cell, or none, and everything that the guest claims there."""
        return not isinstance(place(cell, self.guest, CellDemand.of(cell, amounts, guest_cell)), str)
