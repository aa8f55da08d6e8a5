# SPDX-License-Identifier: Apache-2.0
"""A Nova with two cells, and a bridge that copies it to a store in memory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scheduler_svc.core.namespaces import built_in, compute_node
from scheduler_svc.nova import namespaces
from scheduler_svc.nova.bridge import signals
from scheduler_svc.nova.bridge.api_database import ApiDatabase
from scheduler_svc.nova.bridge.bridge import NovaBridge
from scheduler_svc.nova.bridge.cell_database import CellDatabase
from scheduler_svc.nova.bridge.cells import CellReaders
from scheduler_svc.nova.bridge.publisher import DocumentPublisher
from scheduler_svc.store.memory import MemoryStore
from tests.support.nova.nova_databases import NovaClock, NovaDeployment

NAMESPACES = {namespace.name: namespace for namespace in [*built_in.build(), *namespaces.build()]}
DOWN_MS = 60_000
WRITTEN = {"computes": compute_node.NAMESPACE, "aggregates": "aggregate", "own": namespaces.BRIDGE_NAMESPACE}


class BridgeBench:
    """A Nova, a store and a bridge between them."""

    def __init__(self, folder: Path) -> None:
        self.clock = NovaClock()
        self.nova = NovaDeployment(folder, self.clock)
        self.store = MemoryStore("default", clock=self.clock, namespaces=(*NAMESPACES, signals.NAMESPACE))
        self.bridge = self.make_bridge()

    def make_bridge(self, keep_lease: Callable[[], None] = lambda: None, cell_seconds: float = 60.0) -> NovaBridge:
        """Return a bridge that has read nothing yet, as after a restart."""
        bridge = NovaBridge(
            ApiDatabase(self.nova.api_url),
            CellReaders(CellDatabase),
            self.store,
            **{key: DocumentPublisher(self.store, NAMESPACES[name], keep_lease) for key, name in WRITTEN.items()},
            interval_ms=5000,
            down_ms=DOWN_MS,
            cell_seconds=cell_seconds,
        )
        bridge.take_over()
        return bridge

    def run(self, *, everything: bool = False) -> int:
        """Make a pass; return the number of writes."""
        return self.bridge.run_pass(everything=everything)

    def documents(self, namespace: str = compute_node.NAMESPACE) -> dict[str, dict[str, Any]]:
        """Return the stored documents of a namespace."""
        return {name: document for name, _, document in self.store.list_state(namespace)[0]}

    def computes(self, *keys: str) -> dict[str, Any]:
        """Return these keys of the compute nodes' documents by node: one value, or a list of several."""
        return {
            document["node"]: document[keys[0]] if len(keys) == 1 else [document[key] for key in keys]
            for document in self.documents().values()
        }

    @property
    def state(self) -> dict[str, Any]:
        """The bridge's own document."""
        return self.documents(namespaces.BRIDGE_NAMESPACE)[namespaces.BRIDGE]


@pytest.fixture
def bench(tmp_path: Path) -> BridgeBench:
    """A cell with two hosts, of which one has two nodes, and an empty cell."""
    bridge_bench = BridgeBench(tmp_path)
    first = bridge_bench.nova.add_cell("cell1")
    bridge_bench.nova.add_cell("cell2")
    first.add_compute("h1")
    first.add_compute("h2", "n1", "n2")
    bridge_bench.nova.map_hosts("cell1", "h1", "h2")
    return bridge_bench
