# SPDX-License-Identifier: Apache-2.0
"""Copy of services' liveness from a service group to the store."""

import time
from collections.abc import Callable
from functools import partial

from oslo_log import log

from rpcapi import errors
from rpcapi.daemon.coordination import Coordinator
from scheduler_svc import metrics
from scheduler_svc.store import paging
from scheduler_svc.store.namespaces import SERVICE
from scheduler_svc.store.protocols.host_state import HostReportStore

LOG = log.getLogger(__name__)


class ServiceGroupWatcher:
    """Poller of one partition's group that updates service liveness in the store.

    An outage of the group marks no service down. A service that is missing from answered polls is marked down after
    ``grace`` seconds, or ``settling`` seconds after a start or an outage.
    """

    def __init__(
        self,
        store: HostReportStore,
        group: Coordinator,
        *,
        grace: float,
        settling: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._group = group
        self._grace = grace
        self._settling = settling
        self._clock = clock
        self._alive_until: dict[str, float] | None = None  # service -> until when it counts as alive while absent
        self._away = False

    def poll(self) -> None:
        try:
            present = self._group.members()
        except errors.Unavailable as error:
            metrics.GROUP_AWAY.labels(partition=self._store.partition).inc()
            (LOG.debug if self._away else LOG.warning)("%s; liveness of services stays unchanged", error)
            self._away = True
            return
        now = self._clock()
        alive_until = self._read_alive(now) if self._alive_until is None else self._alive_until
        if self._away:
            LOG.warning("The service group of partition %s is available again", self._store.partition)
            alive_until = dict.fromkeys(alive_until, now + self._settling)
            self._away = False
        alive_until |= {name: max(now + self._grace, alive_until.get(name, 0.0)) for name in present}
        alive_until = {name: until for name, until in alive_until.items() if until > now}
        metrics.GROUP_MEMBERS.labels(partition=self._store.partition).set(len(present))
        self._store.settle_alive(frozenset(alive_until))
        self._alive_until = alive_until

    def _read_alive(self, now: float) -> dict[str, float]:
        """Return the services that the store has as alive: an earlier worker may just have marked them."""
        services = paging.entries(partial(self._store.list_state, SERVICE))
        return {name: now + self._settling for name, _version, document in services if document["alive"]}
