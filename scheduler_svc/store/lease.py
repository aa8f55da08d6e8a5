# SPDX-License-Identifier: Apache-2.0
"""Lease in a store document, owned by at most one process at a time."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from rpcapi import errors
from scheduler_svc.store.protocols.host_state import HostStateStore

NO_OWNER = ""  # owner of a released lease


class DocumentLeaseLost(Exception):
    """Raised when another process may own the lease."""


class DocumentLease:
    """One process's view of a lease, which expires ``seconds`` after the document's last observed change.

    Each process measures that time with its own monotonic clock, so the processes' clocks need not agree.
    """

    def __init__(
        self,
        store: HostStateStore,
        key: tuple[str, str],
        owner: str,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Watch the lease document ``key``: (store-internal namespace, name)."""
        self._store = store
        self._namespace, self._name = key
        self._owner = owner
        self._seconds = seconds
        self._clock = clock
        self._version = 0
        self._changed_at = clock()  # time at which this process first read the version
        self._owned = False

    @property
    def is_valid(self) -> bool:
        """Whether this process owns the lease, with more than half of ``seconds`` left."""
        return self._owned and self._clock() - self._changed_at < self._seconds / 2

    @property
    def renewal_due(self) -> bool:
        return self._clock() - self._changed_at >= self._seconds / 4

    def acquire(self, start: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any] | None:
        """Acquire the lease and return the stored record; None if another process owns the lease.

        A lease without a document begins with the record ``start()``.
        """
        self._owned = False
        version, document = self._store.find_state(self._namespace, self._name)
        if version != self._version:
            self._version, self._changed_at = version, self._clock()
        is_expired = self._clock() - self._changed_at >= self._seconds
        if version and document["owner"] not in (self._owner, NO_OWNER) and not is_expired:
            return None
        recorded = document if version else start()
        return recorded if self.renew(recorded) else None

    def renew(self, record: Mapping[str, Any]) -> bool:
        """Store ``record`` and renew the lease; return False if another process changed the document."""
        return self._put(self._owner, record)

    def keep(self) -> None:
        """Renew a due or invalid lease with an empty record. Raises DocumentLeaseLost and StoreUnavailable."""
        if (not self.is_valid or self.renewal_due) and not self.renew({}):
            raise DocumentLeaseLost

    def release(self, record: Mapping[str, Any]) -> None:
        self._put(NO_OWNER, record)
        self._owned = False

    def _put(self, owner: str, record: Mapping[str, Any]) -> bool:
        # "beat" makes each renewal change the document; ``put_state`` ignores an equal one.
        document = {**record, "owner": owner, "beat": self._version}
        try:
            self._version = self._store.put_state(self._namespace, self._name, self._version, document)
        except errors.VersionConflict:
            self._owned = False
            return False
        self._changed_at, self._owned = self._clock(), True
        return True
