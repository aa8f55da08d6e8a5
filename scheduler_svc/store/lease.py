# SPDX-License-Identifier: Apache-2.0
"""Lease on a store document, owned by one process at a time."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from rpcapi import errors
from scheduler_svc.store.protocols.host_state import HostStateStore

NO_OWNER = ""  # owner of a released lease


class DocumentLeaseLost(Exception):
    """Raised if another process may have taken over."""


class DocumentLease:
    """Lease as one process sees it; it expires ``seconds`` after the document's last change by its own clock."""

    def __init__(
        self,
        store: HostStateStore,
        key: tuple[str, str],
        owner: str,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``key`` is (store-internal namespace, name) of the document."""
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
        """Whether this process owns the lease and no other can have taken over."""
        return self._owned and self._clock() - self._changed_at < self._seconds / 2

    @property
    def renewal_due(self) -> bool:
        return self._clock() - self._changed_at >= self._seconds / 4

    def acquire(self, start: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any] | None:
        """Acquire the lease and return the last record, by default ``start()``; None if another process owns it."""
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
        """Store ``record`` and renew the lease; return False after a takeover."""
        return self._put(self._owner, record)

    def keep(self) -> None:
        """Renew the lease if due, with an empty record. Raises DocumentLeaseLost and StoreUnavailable."""
        if (not self.is_valid or self.renewal_due) and not self.renew({}):
            raise DocumentLeaseLost

    def release(self, record: Mapping[str, Any]) -> None:
        self._put(NO_OWNER, record)
        self._owned = False

    def _put(self, owner: str, record: Mapping[str, Any]) -> bool:
        # "beat" makes every write a change.
        document = {**record, "owner": owner, "beat": self._version}
        try:
            self._version = self._store.put_state(self._namespace, self._name, self._version, document)
        except errors.VersionConflict:
            self._owned = False
            return False
        self._changed_at, self._owned = self._clock(), True
        return True
