# SPDX-License-Identifier: Apache-2.0
"""Changes of host state for listeners, in notifications and over RPC: log entries without leases."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from scheduler_svc.core.records import LogEntry
from scheduler_svc.store.interface import Store

# Lease document of the publisher, with the published position. Internal to the store: absent from NamespaceRegistry, so
# not accessible over the bus.
LEASE_NAMESPACE = "gantt.notifications"
LEASE_KEY = (LEASE_NAMESPACE, "publisher")


KINDS = ("provider", "gone", "used", "service", "alive", "opened", "state", "epoch")
DEFAULT_KINDS = tuple(kind for kind in KINDS if kind != "used")  # 'used' changes with every claim
RESYNC = "resync"
NEW_EPOCH = "the store may have lost data"
GAP = "the log was trimmed past the last position"


class HostStateChange(NamedTuple):
    """Change of one partition's host state at ``position`` in ``epoch``.

    ``kind`` and ``payload`` are those of a log entry (`scheduler_svc.core.records.LogEntry`). Kind "resync" with
    payload {"why": text} means that changes are missing: the listener must read all documents again.
    """

    epoch: int
    position: int
    kind: str
    payload: Any


def of_entry(entry: LogEntry, epoch: int, kinds: Collection[str]) -> HostStateChange | None:
    """Convert a log entry, "epoch" to a resync; None if not in ``kinds``, or only a lease changed."""
    if entry.kind not in kinds:
        return None
    if entry.kind == "epoch":
        return HostStateChange(entry.payload, entry.position, RESYNC, {"why": NEW_EPOCH})
    payload = entry.payload
    if entry.kind == "state":
        payload = {namespace: documents for namespace, documents in payload.items() if namespace != LEASE_NAMESPACE}
    return HostStateChange(epoch, entry.position, entry.kind, payload) if payload != {} else None


class HostStateChanges(NamedTuple):
    """Page of changes up to ``position`` in ``epoch``; ``at_end``: the log has no more."""

    changes: Sequence[HostStateChange]
    epoch: int
    position: int
    at_end: bool


def read(
    store: Store, epoch: int, position: int, kinds: Collection[str], limit: int, *, block_ms: int = 0
) -> HostStateChanges:
    """Return the changes of ``kinds`` among the next ``limit`` log entries after ``position`` of ``epoch``.

    Waits up to ``block_ms`` for the first entry. If the log was trimmed past ``position``, the page is a resync at the
    store's current position. Raises StoreUnavailable.
    """
    entries = store.follow(position, block_ms, limit)
    if entries is None:
        change = resync(store, GAP)
        return HostStateChanges([change], change.epoch, change.position, at_end=True)
    page_changes = []
    for entry in entries:
        if (published := of_entry(entry, epoch, kinds)) is not None:
            page_changes.append(published)
        epoch, position = int(entry.payload) if entry.kind == "epoch" else epoch, entry.position
    return HostStateChanges(page_changes, epoch, position, at_end=len(entries) < limit)


def resync(store: Store, why: str) -> HostStateChange:
    """Return a resync at the store's current position. Raises StoreUnavailable."""
    # No store is behind (0, 0), so this call begins no epoch and only reads the position.
    return HostStateChange(*store.begin_epoch_if_behind(0, 0), RESYNC, {"why": why})
