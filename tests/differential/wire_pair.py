# SPDX-License-Identifier: Apache-2.0
"""One cloud on both sides: Nova's scheduler with Placement in a process of its own, and gantt-scheduler on a bus."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from devstack.lab.peers.side import PeerProcess
from scheduler_svc.conf import from_nova
from scheduler_svc.core.namespaces import built_in, compute_node
from scheduler_svc.nova import namespaces as nova_namespaces
from scheduler_svc.nova.bridge.api_database import ApiDatabase
from scheduler_svc.nova.bridge.bridge import NovaBridge
from scheduler_svc.nova.bridge.cell_database import CellDatabase
from scheduler_svc.nova.bridge.cells import CellReaders
from scheduler_svc.nova.bridge.publisher import DocumentPublisher
from tests.differential import wire_clouds, wire_groups
from tests.differential.wire_clouds import Call, Cloud
from tests.support.nova.nova_clouds import NovaCloud

DOWN_SECONDS = 86_400
CELL_SECONDS = 60.0
DONE = {200, 201, 204}
WRITTEN = {"computes": compute_node.NAMESPACE, "aggregates": "aggregate", "own": nova_namespaces.BRIDGE_NAMESPACE}


class WirePair:
    """Both sides have read the same databases of Nova, and got the same requests to Placement."""

    def __init__(
        self,
        peer: PeerProcess,
        url: str,
        cloud: Cloud,
        settings: Mapping[str, Mapping[str, Any]],
        devices: list[dict[str, Any]] | None = None,
    ) -> None:
        self.peer = peer
        self.cloud = cloud
        self._devices = devices or []
        self._database = peer.ask("load", cloud=cloud, settings=settings)
        self.gantt = NovaCloud(url)
        _configure(self.gantt.conf, settings)

    def start(self) -> None:
        """Fill both Placements, and start gantt on what its bridge reads."""
        self.place([*wire_clouds.placement_calls(self.cloud), *wire_groups.placement_calls(self._devices)])
        _copy(self._database, self.gantt.store)
        self.gantt.start()

    def close(self) -> None:
        """Stop gantt, and empty Nova's Placement."""
        try:
            self.place_there([*wire_groups.removal_calls(self._devices), *wire_clouds.removal_calls(self.cloud)])
        finally:
            self.gantt.stop()
            if self.gantt.client is not None:
                self.gantt.client.transport.cleanup()

    def place(self, calls: Iterable[Call]) -> None:
        """Send requests to both Placements; both must accept all of them."""
        listed = list(calls)
        self.place_there(listed)
        self.place_here(listed)

    def place_there(self, calls: Iterable[Call]) -> None:
        """Send requests to Nova's Placement."""
        listed = list(calls)
        answers = self.peer.ask("place", calls=listed)
        assert {status for status, _ in answers} <= DONE, list(zip(listed, answers, strict=True))

    def place_here(self, calls: Iterable[Call]) -> None:
        """Send requests to gantt's Placement."""
        for call in calls:
            answer = self.gantt.placement.call(*call)
            assert answer.status in DONE, (call, answer)

    def allocations(self, consumer: str) -> tuple[Any, Any]:
        """Return what a consumer holds, by Placement and by gantt."""
        path = f"/allocations/{consumer}"
        ((_, text),) = self.peer.ask("place", calls=[("GET", path, None)])
        return _comparable(json.loads(text)), _comparable(self.gantt.placement.call("GET", path).json)


def _comparable(answer: dict[str, Any]) -> Any:
    allocations = {provider: entry["resources"] for provider, entry in answer["allocations"].items()}
    return allocations, *(answer.get(key) for key in ("project_id", "user_id", "consumer_generation"))


def _configure(conf: Any, settings: Mapping[str, Mapping[str, Any]]) -> None:
    """Set what gantt-nova-config makes of the settings."""
    texts = {
        group: {option: [_text(value)] for option, value in options.items()} for group, options in settings.items()
    }
    translation = from_nova.translate(texts)
    assert not translation.refused
    for group, options in translation.sections.items():
        for option, text in options.items():
            value = [item for item in text.split(",") if item] if isinstance(conf[group][option], list) else text
            conf.set_override(option, value, group=group)


def _text(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)


def _copy(database: str, store: Any) -> None:
    """Make one pass of the bridge."""
    namespaces = {namespace.name: namespace for namespace in [*built_in.build(), *nova_namespaces.build()]}
    bridge = NovaBridge(
        ApiDatabase(database),
        CellReaders(CellDatabase),
        store,
        **{key: DocumentPublisher(store, namespaces[name], lambda: None) for key, name in WRITTEN.items()},
        interval_ms=5000,
        down_ms=1000 * DOWN_SECONDS,
        cell_seconds=CELL_SECONDS,
    )
    bridge.take_over()
    bridge.run_pass(everything=True)
