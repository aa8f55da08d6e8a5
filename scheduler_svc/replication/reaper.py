# SPDX-License-Identifier: Apache-2.0
"""Cleanup of a partition: expired claims, silent services, old tombstones."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from scheduler_svc import metrics
from scheduler_svc.store.protocols.maintenance import MaintenanceStore
from scheduler_svc.store.records import COLLECT_MS

BATCH = 100  # limit per kind and script; 100 expired claims take 2 to 3 ms
STORE_SHARE = 0.05  # share of the store's time that each daemon's first worker may use while work remains
MIN_PAUSE = 0.001  # seconds


@dataclass(frozen=True, slots=True)
class ReapLimits:
    """Ages in ms after which the reaper acts."""

    dead_after_ms: int | None  # silence of a service that is down; None: a service group decides liveness
    tombstone_ms: int
    collect_ms: int = COLLECT_MS  # collection of forgotten hosts' names in a new epoch


class Reaper:
    """Cleans up a partition. Safe in any number of workers: each batch is one atomic, idempotent verb."""

    def __init__(
        self,
        store: MaintenanceStore,
        limits: Callable[[], ReapLimits],
        spares_hosts: Callable[[int], bool] = lambda _dead_after_ms: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._spares_hosts = spares_hosts
        self._limits = limits
        self._clock = clock
        self._pause: float | None = None

    def reap(self) -> None:
        self._pause = None
        limits = self._limits()
        dead_after_ms = limits.dead_after_ms
        if dead_after_ms is not None and self._spares_hosts(dead_after_ms):
            dead_after_ms = None
        begin = self._clock()
        result = self._store.reap(
            dead_after_ms=dead_after_ms,
            tombstone_ms=limits.tombstone_ms,
            collect_ms=limits.collect_ms,
            limit=BATCH,
        )
        if result.remains:
            self._pause = max(MIN_PAUSE, (self._clock() - begin) * (1 / STORE_SHARE - 1))
        metrics.REAP_REMAINS.labels(partition=self._store.partition).set(result.remains)
        metrics.EXPIRED_CLAIMS.inc(result.ended)
        metrics.PREPARED_CLAIM_AGE.labels(partition=self._store.partition).set(result.prepared_ms / 1000)
        for state, count in self._store.counts().items():
            metrics.LIVE_CLAIMS.labels(partition=self._store.partition, state=state).set(count)

    def pause(self, interval: float) -> float:
        """Return the seconds until the next batch: at most ``interval``, less while work remains."""
        return interval if self._pause is None else min(interval, self._pause)
