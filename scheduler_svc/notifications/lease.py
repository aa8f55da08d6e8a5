# SPDX-License-Identifier: Apache-2.0
"""The lease of the notification publisher and the published position: a store document under compare-and-set."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rpcapi import errors
from scheduler_svc.store.protocols.host_state import HostStateStore

NAMESPACE = "gantt.notifications"  # internal to the store: not in NamespaceRegistry, so not accessible over the bus
NAME = "publisher"
NO_OWNER = ""  # owner of a released lease


@dataclass(frozen=True, slots=True)
class PublishedPosition:
    """The last published log position and its epoch."""

    epoch: int
    position: int


class PublisherLease:
    """The publisher lease, as one worker sees it.

    A lease expires when its document has not changed for ``lease`` seconds; clocks of workers are never compared.
    """

    def __init__(
        self, store: HostStateStore, owner: str, lease: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._owner = owner
        self._lease = lease
        self._clock = clock
        self._version = 0
        self._changed_at = clock()  # when this version of the document was first read
        self._owned = False

    @property
    def is_valid(self) -> bool:
        """Whether no other worker can have taken over."""
        return self._owned and self._clock() - self._changed_at < self._lease / 2

    @property
    def renewal_due(self) -> bool:
        """Whether the lease must be renewed, even if nothing was published."""
        return self._clock() - self._changed_at >= self._lease / 4

    def acquire(self, start: Callable[[], PublishedPosition]) -> PublishedPosition | None:
        """Try to acquire the lease; return the published position, or None if another owner has it.

        ``start`` returns the start position if nothing was ever published. Raises StoreUnavailable.
        """
        self._owned = False
        try:
            version, document = self._store.get_state(NAMESPACE, NAME)
        except errors.UnknownHost:
            version, document = 0, {}
        if version != self._version:
            self._version, self._changed_at = version, self._clock()
        is_expired = self._clock() - self._changed_at >= self._lease
        if version and document["owner"] not in (self._owner, NO_OWNER) and not is_expired:
            return None
        published = PublishedPosition(document["epoch"], document["position"]) if version else start()
        return published if self.renew(published) else None

    def renew(self, published: PublishedPosition) -> bool:
        """Record the published position and renew the lease; return False if another worker has taken over."""
        return self._put(self._owner, published)

    def release(self, published: PublishedPosition) -> None:
        """Record the published position and release the lease for other workers."""
        self._put(NO_OWNER, published)
        self._owned = False

    def _put(self, owner: str, published: PublishedPosition) -> bool:
        document: dict[str, Any] = {
            "owner": owner,
            "epoch": published.epoch,
            "position": published.position,
            "beat": self._version,  # makes every write a change
        }
        try:
            self._version = self._store.put_state(NAMESPACE, NAME, self._version, document)
        except errors.VersionConflict:
            self._owned = False
            return False
        self._changed_at, self._owned = self._clock(), True
        return True
