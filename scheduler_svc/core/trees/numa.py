# SPDX-License-Identifier: Apache-2.0
"""Check whether a host can pin a guest to an allocation candidate, by the agent's rules."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from rpcapi.resources.numa.cells import HostCell
from rpcapi.resources.numa.fit import fit
from rpcapi.resources.numa.pinning import ThreadPolicy
from rpcapi.resources.numa.topology import GuestTopology
from rpcapi.resources.trees.tree import AllocationCandidate, ProviderTree


class NumaFit:
    """Cells of one host, for one guest's topology.

    Pinned CPUs come from the host's last report, current usage from claims. The difference is assumed to be guests like
    this one, so the host may still reject the guest; it then reports at once.
    """

    def __init__(self, numa: Mapping[str, Any], cell_states: Sequence[Any], tree: ProviderTree) -> None:
        """``numa`` is the request's topology, ``cell_states`` the reported cells, ``tree`` the current usage."""
        self._topology = GuestTopology.from_dict(numa)
        self._root = tree.root.id
        self._paths = {provider.id: _path(self._root, provider.id) for provider in tree.providers}
        used = {
            self._paths[provider.id]: {name: inventory.used for name, inventory in provider.inventories.items()}
            for provider in tree.providers
        }
        piece = max((len(cell.pcpus) for cell in self._topology.cells), default=0)
        self._cells = [
            cell.with_use(used.get(cell.path, {}), piece, self._topology.thread_policy) for cell in _cells(cell_states)
        ]

    def accepts(self, candidate: AllocationCandidate) -> bool:
        allocations = {self._paths.get(name, name): amounts for name, amounts in candidate.allocations.items()}
        cells_by_suffix = {
            suffix: self._paths[names[0]]
            for suffix, names in candidate.providers.items()
            if suffix and names[0] in self._paths
        }
        return not isinstance(fit(self._cells, self._topology, cells_by_suffix, allocations), str)

    def symmetry_key(self, provider: str) -> Hashable:
        """Return the key by which cells are equivalent for this guest, besides amounts; None for other providers."""
        path = _path(self._root, provider)
        for cell in self._cells:
            if path == cell.path:
                requires_siblings = self._topology.thread_policy is ThreadPolicy.REQUIRE
                cores = tuple(sorted(len(core) for core in cell.free)) if requires_siblings else ()
                return cores, cell.id if self._topology.devices else None
        return None


def _path(root: str, provider: str) -> str:
    return "" if provider == root else provider.removeprefix(f"{root}/")


def _cells(cell_states: Sequence[Any]) -> list[HostCell]:
    try:
        return [HostCell.from_dict(state) for state in cell_states]
    except (KeyError, TypeError, ValueError, AttributeError):
        return []
