# SPDX-License-Identifier: Apache-2.0
"""NUMA conditions of a request on a host, from the host's last report and later claims."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rpcapi.resources.numa.cells import HostCell
from rpcapi.resources.numa.fit import NumaConditions
from rpcapi.resources.numa.topology import GuestTopology
from rpcapi.resources.trees.tree import ProviderTree


def read_conditions(numa: Mapping[str, Any], cell_states: Sequence[Any], tree: ProviderTree) -> NumaConditions:
    """Return the conditions of topology ``numa`` on a host's reported cells.

    Usage in ``tree`` beyond the reported pinned CPUs is assumed to belong to guests like this one. If that is wrong,
    the host rejects the guest and reports at once.
    """
    topology = GuestTopology.from_dict(numa)
    providers = {provider.id: provider for provider in tree.providers}
    cells: dict[str, HostCell] = {}
    guest_cpus = max((len(cell.pcpus) for cell in topology.cells), default=0)
    for cell in _parse_cells(cell_states):
        name = f"{tree.root.id}/{cell.path}"
        if name in providers:
            used = {key: inventory.used for key, inventory in providers[name].inventories.items()}
            cells[name] = cell.with_use(used, guest_cpus, topology.thread_policy)
    return NumaConditions(topology, cells)


def _parse_cells(cell_states: Iterable[Any]) -> list[HostCell]:
    try:
        return [HostCell.from_dict(state) for state in cell_states]
    except (KeyError, TypeError, ValueError, AttributeError):
        return []
