# SPDX-License-Identifier: Apache-2.0
"""A lease: a store document under compare-and-set that one process owns at a time."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from rpcapi import errors
from scheduler_svc.store.protocols.host_state import HostStateStore

NO_OWNER = ""  # owner of a released lease


class LeaseLost(Exception):
    """Raised where another process may have taken over."""


class DocumentLease:
    """A lease as one process sees it; its document has what the owner records for the next one.

    It expires when its document has not changed for ``seconds``; clocks of processes are never compared.
    """

    def __init__(
        self,
        store: HostStateStore,
        place: tuple[str, str],
        owner: str,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``place`` is the document's namespace, which is internal to the store, and name."""
        self._store = store
        self._namespace, self._name = place
        self._owner = owner
        self._seconds = seconds
        self._clock = clock
        self._version = 0
        self._changed_at = clock()  # when this version of the document was first read
        self._owned = False

    @property
    def is_valid(self) -> bool:
        """Whether no other process can have taken over."""
        return self._owned and self._clock() - self._changed_at < self._seconds / 2

    @property
    def renewal_due(self) -> bool:
        """Whether the lease must be renewed, even if nothing is to be recorded."""
        return self._clock() - self._changed_at >= self._seconds / 4

    def acquire(self, start: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any] | None:
        """Try to acquire the lease; return what its last owner recorded, or None if another one has it.

        ``start`` returns what counts as recorded if there never was an owner. Raises StoreUnavailable.
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
        """Record ``record`` and renew the lease; return False if another process has taken over."""
        return self._put(self._owner, record)

    def keep(self) -> None:
        """Renew the lease if that is due, with nothing to record; raises LeaseLost, and StoreUnavailable."""
        if (not self.is_valid or self.renewal_due) and not self.renew({}):
            raise LeaseLost

    def release(self, record: Mapping[str, Any]) -> None:
        """Record ``record`` and release the lease for others."""
        self._put(NO_OWNER, record)
        self._owned = False

    def _put(self, owner: str, record: Mapping[str, Any]) -> bool:
        # The last key makes every write a change.
        document = {**record, "owner": owner, "beat": self._version}
        try:
            self._version = self._store.put_state(self._namespace, self._name, self._version, document)
        except errors.VersionConflict:
            self._owned = False
            return False
        self._changed_at, self._owned = self._clock(), True
        return True
