# SPDX-License-Identifier: Apache-2.0
"""A model of a replica: follows the log, and reloads when it must."""

from dataclasses import replace
from typing import Any

from scheduler_svc.core.records import Snapshot
from tests.support.store.store_partition import StorePartition

_PARTS = {"provider": "providers", "used": "used", "service": "services", "alive": "alive", "opened": "opened"}


class LogFollower:
    """A snapshot that is updated by log entries only."""

    def __init__(self, partition: StorePartition) -> None:
        self.partition = partition
        self.snapshot = partition.store.snapshot()

    def follow(self, limit: int = 1000) -> None:
        """Apply new entries, ``limit`` at a time."""
        while True:
            entries = self.partition.store.follow(self.snapshot.position, 0, limit)
            if entries is None or any(entry.kind == "epoch" for entry in entries):
                self.snapshot = self.partition.store.snapshot()
                return
            if not entries:
                return
            for entry in entries:
                self.snapshot = apply_entry(self.snapshot, entry.position, entry.kind, entry.payload)

    def check(self) -> None:
        """Assert that it equals a new snapshot, except for sums of removed nodes."""
        now = self.partition.store.snapshot()
        assert self.snapshot.position == now.position
        assert _without_removed_nodes(self.snapshot) == _without_removed_nodes(now)


def apply_entry(snapshot: Snapshot, position: int, kind: str, payload: Any) -> Snapshot:
    """Return the snapshot after one entry."""
    if kind == "gone":
        remaining = {name: node for name, node in snapshot.providers.items() if name not in payload}
        return replace(snapshot, position=position, providers=remaining)
    field = _PARTS[kind]
    changed: dict[str, Any] = {field: {**getattr(snapshot, field), **payload}}
    return replace(snapshot, position=position, **changed)


def _without_removed_nodes(snapshot: Snapshot) -> Snapshot:
    sums = {name: snapshot.used[name] for name in snapshot.providers if any(snapshot.used.get(name, {}).values())}
    opened = {host: epoch for host, epoch in snapshot.opened.items() if epoch}
    return replace(snapshot, used=sums, opened=opened)


def check_trees(snapshot: Snapshot) -> None:
    """Assert that each provider's parent exists, and that it has the parent's root."""
    for name, provider in snapshot.providers.items():
        above = provider["parent"]
        expected = name if above is None else snapshot.providers[above]["root"]
        assert provider["root"] == expected, name
