# SPDX-License-Identifier: Apache-2.0
"""A store that refuses new work while a collection takes as many bytes as it may."""

from collections.abc import Mapping
from typing import Any

from rpcapi import errors
from rpcapi.bounds import Bound, CollectionSize, StoreBounds
from scheduler_svc.core.records import BatchAnswer, ClaimBatch
from scheduler_svc.store import namespaces
from scheduler_svc.store.forwarding import ForwardingStore
from scheduler_svc.store.interface import Store
from scheduler_svc.store.records import GroupHome, GroupMembership, HostReport, StatsOutcome

CLAIMS, TOMBSTONES, PINS, HOSTS, DOCUMENTS, LOG = "claims", "tombstones", "pins", "hosts", "documents", "log"
# Options of group [store] by collection.
OPTIONS = {
    CLAIMS: "claim_bytes",
    TOMBSTONES: "tombstone_bytes",
    PINS: "pin_bytes",
    HOSTS: "host_bytes",
    DOCUMENTS: "document_bytes",
    LOG: "log_bytes",
    "decisions": "decision_bytes",
}
ROTATES = frozenset({LOG, "decisions"})  # at the bound the oldest are removed: nothing needs them


class BoundedStore(ForwardingStore):
    """Raises StoreFull for new claims, pins, hosts and documents while their collection is at its bound.

    The bounds are compared with the last result of ``sizes``. Verbs that end, confirm or find something, audits, and
    the reports of hosts that the store knows are served at any size: a bound removes nothing that safety needs.
    """

    def __init__(self, store: Store, bounds: Mapping[str, int]) -> None:
        """``bounds`` are in bytes, by collection."""
        super().__init__(store)
        self._bounds = StoreBounds(
            f"The store of partition {store.partition!r}",
            {name: Bound(size, f"[store] {OPTIONS[name]}", name in ROTATES) for name, size in bounds.items()},
        )

    def sizes(self) -> Mapping[str, CollectionSize]:
        return self._bounds.observe(super().sizes())

    def accepts_claims(self) -> bool:
        return not (self._bounds.is_full(CLAIMS) or self._bounds.is_full(TOMBSTONES))

    def prepare(self, batch: ClaimBatch) -> BatchAnswer:
        self._bounds.check(CLAIMS, TOMBSTONES)
        return super().prepare(batch)

    def pin(self, key: str, partition: str, ttl_ms: int, instead_of: str | None = None) -> str:
        self._bounds.check(PINS)
        return super().pin(key, partition, ttl_ms, instead_of)

    def group_home(self, group_id: str, partition: str, ttl_ms: int, instead_of: str = "") -> GroupHome:
        self._bounds.check(PINS)
        return super().group_home(group_id, partition, ttl_ms, instead_of)

    def leave_group(self, group_id: str, generation: str, ttl_ms: int) -> GroupMembership:
        self._bounds.check(PINS)
        return super().leave_group(group_id, generation, ttl_ms)

    def update_stats(self, host: str, report: HostReport) -> StatsOutcome:
        if report.register and self._bounds.is_full(HOSTS) and not self._is_stored(host):
            self._bounds.check(HOSTS)
        return super().update_stats(host, report)

    def put_state(self, namespace: str, name: str, version: int, document: Mapping[str, Any]) -> int:
        if version == 0:  # a new document
            self._bounds.check(DOCUMENTS)
        return super().put_state(namespace, name, version, document)

    def _is_stored(self, host: str) -> bool:
        try:
            self.get_state(namespaces.SERVICE, host)
        except errors.UnknownHost:
            return False
        return True
