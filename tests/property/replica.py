# SPDX-License-Identifier: Apache-2.0
"""One that follows the log, and starts over where it must."""

from dataclasses import replace
from typing import Any

from scheduler_svc.store.records import Snapshot
from tests.unit.scheduler_svc.store.world import World

_PARTS = {"provider": "providers", "used": "used", "service": "services", "alive": "alive", "opened": "opened"}


class LogFollower:
    """A snapshot kept fresh by entries alone."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.seen = world.store.snapshot()

    def follow(self, limit: int = 1000) -> None:
        """Take over what is new, ``limit`` entries at a time."""
        while True:
            entries = self.world.store.follow(self.seen.position, 0, limit)
            if entries is None or any(entry.kind == "epoch" for entry in entries):
                self.seen = self.world.store.snapshot()
                return
            if not entries:
                return
            for entry in entries:
                self.seen = apply_entry(self.seen, entry.position, entry.kind, entry.payload)

    def check(self) -> None:
        """Demand that it is what a snapshot is; sums of nodes that are gone are no replica's business."""
        now = self.world.store.snapshot()
        assert self.seen.position == now.position
        assert _without_removed_nodes(self.seen) == _without_removed_nodes(now)


def apply_entry(seen: Snapshot, position: int, kind: str, payload: Any) -> Snapshot:
    """Return ``seen`` after one entry."""
    if kind == "gone":
        left = {name: node for name, node in seen.providers.items() if name not in payload}
        return replace(seen, position=position, providers=left)
    part = _PARTS[kind]
    changed: dict[str, Any] = {part: {**getattr(seen, part), **payload}}
    return replace(seen, position=position, **changed)


def _without_removed_nodes(seen: Snapshot) -> Snapshot:
    sums = {name: seen.used[name] for name in seen.providers if any(seen.used.get(name, {}).values())}
    opened = {host: epoch for host, epoch in seen.opened.items() if epoch}
    return replace(seen, used=sums, opened=opened)
