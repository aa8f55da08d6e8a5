# SPDX-License-Identifier: Apache-2.0
"""Conditions of a guest's NUMA topology on one host's cells, for the tree search."""

from collections.abc import Mapping
from dataclasses import dataclass

from rpcapi.resources.numa.cells import HostCell
from rpcapi.resources.numa.fit import CellDemand, place
from rpcapi.resources.numa.topology import GuestCell, GuestTopology


@dataclass(frozen=True, slots=True)
class NumaConditions:
    """Guest topology, and host cells by provider id."""

    guest: GuestTopology
    cells: Mapping[str, HostCell]

    def fits(self, cell: HostCell, guest_cell: GuestCell | None, amounts: Mapping[str, int]) -> bool:
        """Return whether ``cell`` fits ``guest_cell`` (None: no cell) and all amounts that the guest claims there."""
        return not isinstance(place(cell, self.guest, CellDemand.of(cell, amounts, guest_cell)), str)
