# SPDX-License-Identifier: Apache-2.0
"""Periodic measurement of a store's collections, with trimming of its log."""

import time
from collections.abc import Callable

from oslo_log import log

from scheduler_svc import metrics
from scheduler_svc.store.interface import Store

LOG = log.getLogger(__name__)

STORE_SHARE = 0.01  # share of the store's time that one worker's measurements may use


class SizeMeasurement:
    """Measurement of a store's sizes against its bounds. Every worker measures, without an elected leader."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._seconds = 0.0
        self._full: set[str] = set()

    def measure(self) -> None:
        begin = self._clock()
        sizes = self._store.sizes()
        self._seconds = self._clock() - begin
        for name, size in sizes.items():
            labels = {"partition": self._store.partition, "collection": name}
            metrics.STORE_ENTRIES.labels(**labels).set(size.entries)
            metrics.STORE_BYTES.labels(**labels).set(size.bytes)
            metrics.STORE_BOUND.labels(**labels).set(size.bound)
            if size.is_full and name not in self._full:
                LOG.warning(
                    "Partition %s refuses new work: %s take %d of at most %d bytes",
                    self._store.partition,
                    name,
                    size.bytes,
                    size.bound,
                )
        self._full = {name for name, size in sizes.items() if size.is_full}
        log_size = sizes["log"]
        if 0 < log_size.bound < log_size.bytes:
            self._store.trim_log(log_size.entries * log_size.bound // log_size.bytes)

    def pause(self, interval: float) -> float:
        """Return the seconds until the next measurement: ``interval``, or more if measuring takes long."""
        return max(interval, self._seconds * (1 / STORE_SHARE - 1))
