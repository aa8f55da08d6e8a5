# SPDX-License-Identifier: Apache-2.0
"""The lease of the notification publisher and the published position."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from scheduler_svc.store.lease import DocumentLease
from scheduler_svc.store.protocols.host_state import HostStateStore

NAMESPACE = "gantt.notifications"  # internal to the store: not in NamespaceRegistry, so not accessible over the bus
NAME = "publisher"


@dataclass(frozen=True, slots=True)
class PublishedPosition:
    """The last published log position and its epoch."""

    epoch: int
    position: int


class PublisherLease:
    """The publisher lease, as one worker sees it."""

    def __init__(
        self, store: HostStateStore, owner: str, lease: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._lease = DocumentLease(store, (NAMESPACE, NAME), owner, lease, clock)

    @property
    def is_valid(self) -> bool:
        """Whether no other worker can have taken over."""
        return self._lease.is_valid

    @property
    def renewal_due(self) -> bool:
        """Whether the lease must be renewed, even if nothing was published."""
        return self._lease.renewal_due

    def acquire(self, start: Callable[[], PublishedPosition]) -> PublishedPosition | None:
        """Try to acquire the lease; return the published position, or None if another owner has it.

        ``start`` returns the start position if nothing was ever published. Raises StoreUnavailable.
        """
        record = self._lease.acquire(lambda: asdict(start()))
        return None if record is None else PublishedPosition(record["epoch"], record["position"])

    def renew(self, published: PublishedPosition) -> bool:
        """Record the published position and renew the lease; return False if another worker has taken over."""
        return self._lease.renew(asdict(published))

    def release(self, published: PublishedPosition) -> None:
        """Record the published position and release the lease for other workers."""
        self._lease.release(asdict(published))
