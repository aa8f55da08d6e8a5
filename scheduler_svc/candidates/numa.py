# SPDX-License-Identifier: Apache-2.0
"""Would the host pin a guest to what was found for it? Judged by the rule that the agent pins by."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from rpcapi.model.numa.cells import Cell
from rpcapi.model.numa.fit import fit
from rpcapi.model.numa.pinning import ThreadPolicy
from rpcapi.model.numa.topology import Topology
from rpcapi.model.trees import Found, Tree


class NumaFit:
    """The cells of one host as a guest's topology sees them.

    The host told which CPUs were taken when it reported last; how many are in use by now the claims say. What lies
    between is taken to be as guests like this one would have it, so a host may still refuse what is accepted here: it
    then reports at once.
    """

    def __init__(self, numa: Mapping[str, Any], told: Sequence[Any], tree: Tree) -> None:
        """``numa`` is the request's, ``told`` the cells' states as reported, ``tree`` what is in use by now.

        States that make no sense are as good as none.
        """
        self._topology = Topology.from_dict(numa)
        self._root = tree.root.id
        self._paths = {each.id: _path(self._root, each.id) for each in tree.providers}
        used = {
            self._paths[each.id]: {name: stock.used for name, stock in each.stocks.items()} for each in tree.providers
        }
        piece = max((len(each.pcpus) for each in self._topology.cells), default=0)
        self._cells = [
            cell.with_use(used.get(cell.path, {}), piece, self._topology.thread_policy) for cell in _cells(told)
        ]

    def accepts(self, found: Found) -> bool:
        """Tell whether the host can pin the guest to what was found."""
        held = {self._paths.get(name, name): amounts for name, amounts in found.allocations.items()}
        chosen = {
            suffix: self._paths[names[0]]
            for suffix, names in found.providers.items()
            if suffix and names[0] in self._paths
        }
        return not isinstance(fit(self._cells, self._topology, chosen, held), str)

    def mark(self, provider: str) -> Hashable:
        """Return what tells a cell from its likes beside amounts, where it matters to the guest: on which cores its
        free CPUs are, and which cell it is. None of a provider that is no cell.
        """
        path = _path(self._root, provider)
        for cell in self._cells:
            if path == cell.path:
                together = self._topology.thread_policy is ThreadPolicy.REQUIRE
                cores = tuple(sorted(len(core) for core in cell.free)) if together else ()
                return cores, cell.id if self._topology.devices else None
        return None


def _path(root: str, provider: str) -> str:
    return "" if provider == root else provider.removeprefix(f"{root}/")


def _cells(told: Sequence[Any]) -> list[Cell]:
    try:
        return [Cell.from_dict(each) for each in told]
    except (KeyError, TypeError, ValueError, AttributeError):
        return []
