# SPDX-License-Identifier: Apache-2.0
"""Telling the store who lives, as a service group sees it."""

import time
from collections.abc import Callable, Collection
from typing import Protocol

from oslo_log import log

from rpcapi import errors
from scheduler_svc import metrics
from scheduler_svc.store.interface import Store
from scheduler_svc.store.namespaces import SERVICE

LOG = log.getLogger(__name__)


class ServiceGroup(Protocol):
    """Who is there now."""

    def members(self) -> Collection[str]:
        """Return the names of the services that live; raises Unavailable where that cannot be known."""


class Watch:
    """Looks at the group of one partition and settles in its store who lives.

    Nobody is dead because the group is away: what was last known stands, and once it is back everybody has time to
    join again. Who is missing has been so for ``grace`` seconds of looks that were answered, ``settling`` after an
    outage or at the start, before that is believed.
    """

    def __init__(
        self,
        store: Store,
        group: ServiceGroup,
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
        self._believed: dict[str, float] | None = None  # until when each is taken for alive without being there
        self._away = False

    def look(self) -> None:
        """Take one look; raises StoreUnavailable."""
        try:
            present = self._group.members()
        except errors.Unavailable as error:
            metrics.GROUP_AWAY.labels(partition=self._store.partition).inc()
            (LOG.debug if self._away else LOG.warning)("%s; who lives stands as it was", error)
            self._away = True
            return
        now = self._clock()
        believed = self._alive(now) if self._believed is None else self._believed
        if self._away:
            LOG.warning("The service group of partition %s is there again", self._store.partition)
            believed = dict.fromkeys(believed, now + self._settling)
            self._away = False
        believed |= {name: max(now + self._grace, believed.get(name, 0.0)) for name in present}
        believed = {name: until for name, until in believed.items() if until > now}
        metrics.GROUP_MEMBERS.labels(partition=self._store.partition).set(len(present))
        self._store.settle_alive(frozenset(believed))
        self._believed = believed

    def _alive(self, now: float) -> dict[str, float]:
        """Return who the store says is alive: a worker before this one may have seen them a moment ago."""
        found: dict[str, float] = {}
        marker: str | None = None
        while True:
            page, marker = self._store.list_state(SERVICE, marker)
            found |= {name: now + self._settling for name, _version, document in page if document["alive"]}
            if marker is None:
                return found
