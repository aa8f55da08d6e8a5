# SPDX-License-Identifier: Apache-2.0
"""Tidies the partition: expired claims, services that fell silent, old tombstones."""

from collections.abc import Callable
from dataclasses import dataclass

from scheduler_svc import metrics
from scheduler_svc.store.interface import Store

BATCH = 500


@dataclass(frozen=True, slots=True)
class Patience:
    """How long is waited before something is tidied away, in milliseconds.

    ``dead_after_ms`` None: a service group tells who lives.
    """

    dead_after_ms: int | None
    tombstone_ms: int


class Reaper:
    """One round a call. Any number of workers may do it at once: each round is one atomic verb, and idempotent."""

    def __init__(self, store: Store, patience: Callable[[], Patience]) -> None:
        self._store = store
        self._patience = patience

    def reap(self) -> None:
        """Tidy until nothing is left that is due; raises StoreUnavailable."""
        patience = self._patience()
        ended = BATCH
        while ended >= BATCH:
            ended = self._store.reap(
                dead_after_ms=patience.dead_after_ms, tombstone_ms=patience.tombstone_ms, limit=BATCH
            )
            metrics.EXPIRED.inc(ended)
        for state, count in self._store.counts().items():
            metrics.LIVE.labels(partition=self._store.partition, state=state).set(count)
