# SPDX-License-Identifier: Apache-2.0
"""Suspicion that the message bus has failed, while all hosts of a partition are silent."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from oslo_log import log

from rpcapi.daemon.metrics import NOT_READY
from scheduler_svc.store import paging
from scheduler_svc.store.interface import Store
from scheduler_svc.store.namespaces import SERVICE
from scheduler_svc.store.reports import COMPUTE

LOG = log.getLogger(__name__)

MIN_HOSTS = 3  # minimum for a suspicion; fewer hosts may well fail together
SILENT_SHARE = 0.5  # share of ``dead_after_ms`` after which all hosts count as silent


class BusSuspicion:
    """Suspicion of one worker that the message bus of one partition is down, not its hosts.

    Like in Kubernetes' node controller, silent hosts are marked down only if others report. After a suspicion, or after
    this worker's start, which may follow an outage, each host first gets its full time for a report.
    """

    def __init__(
        self,
        store: Store,
        reports_silent_s: Callable[[], float],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``reports_silent_s``: seconds since a host reported to this worker. If few, the store is not read."""
        self._store = store
        self._reports_silent_s = reports_silent_s
        self._clock = clock
        self._spares_until: float | None = None
        self._suspects = False
        self._extends_grace = False

    def spares_hosts(self, dead_after_ms: int) -> bool:
        """Return whether hosts that are silent for ``dead_after_ms`` may not be marked down now."""
        suspects = self._are_all_silent(dead_after_ms * SILENT_SHARE)
        if suspects and not self._suspects:
            LOG.error("No host of partition %s reports: the message bus is suspected", self._store.partition)
        elif self._suspects and not suspects:
            LOG.warning("Hosts of partition %s report again", self._store.partition)
        self._suspects = suspects
        reason = f"no host of partition {self._store.partition} reports, the message bus is suspected"
        NOT_READY.labels(reason=reason).set(suspects)
        now = self._clock()
        # A silence that begins and ends within the grace extends it no further: otherwise the pauses between reports of
        # hosts that report too rarely would keep lost hosts up for ever.
        is_over = self._spares_until is None or now >= self._spares_until
        self._extends_grace = suspects and (self._extends_grace or is_over)
        if self._spares_until is None or self._extends_grace:
            self._spares_until = now + dead_after_ms / 1000
        return suspects or now < self._spares_until

    def _are_all_silent(self, silent_ms: float) -> bool:
        if 1000 * self._reports_silent_s() < silent_ms:
            return False
        silent_since = self._store.clock_ms() - silent_ms
        hosts = 0
        for service in self._live_hosts():
            if (service["last_report_ms"] or 0) > silent_since:
                return False
            hosts += 1
        return hosts >= MIN_HOSTS

    def _live_hosts(self) -> Iterator[dict[str, Any]]:
        for _name, _version, service in paging.entries(partial(self._store.list_state, SERVICE)):
            if service["binary"] == COMPUTE and service["alive"]:
                yield service
