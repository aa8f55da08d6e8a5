# SPDX-License-Identifier: Apache-2.0
"""Cleanup of a partition: expired claims, silent services, old tombstones."""

from collections.abc import Callable
from dataclasses import dataclass

from scheduler_svc import metrics
from scheduler_svc.store.protocols.maintenance import MaintenanceStore

BATCH = 500


@dataclass(frozen=True, slots=True)
class ReapLimits:
    """Ages in milliseconds after which the reaper acts.

    ``dead_after_ms`` is the silence after which a service is dead; None: a service group decides liveness.
    ``tombstone_ms`` is the age at which tombstones are removed.
    """

    dead_after_ms: int | None
    tombstone_ms: int


class Reaper:
    """Cleans up a partition. Safe in any number of workers: each batch is one atomic, idempotent verb."""

    def __init__(self, store: MaintenanceStore, limits: Callable[[], ReapLimits]) -> None:
        self._store = store
        self._limits = limits

    def reap(self) -> None:
        """Clean up until nothing more is due; raises StoreUnavailable."""
        limits = self._limits()
        ended = BATCH
        while ended >= BATCH:
            ended = self._store.reap(dead_after_ms=limits.dead_after_ms, tombstone_ms=limits.tombstone_ms, limit=BATCH)
            metrics.EXPIRED_CLAIMS.inc(ended)
        for state, count in self._store.counts().items():
            metrics.LIVE_CLAIMS.labels(partition=self._store.partition, state=state).set(count)
