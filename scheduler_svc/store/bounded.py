# SPDX-License-Identifier: Apache-2.0
"""A store that refuses new work while a collection takes as many bytes as it may."""

from collections.abc import Mapping, Sequence
from typing import Any

from rpcapi import errors
from rpcapi.bounds import Bound, CollectionSize, StoreBounds
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import BatchAnswer, BatchOutcomes, ClaimBatch, ClaimRef
from scheduler_svc.store import documents, namespaces
from scheduler_svc.store.allocations import AllocationChange, ConsumerImport
from scheduler_svc.store.forwarding import ForwardingStore
from scheduler_svc.store.interface import Store
from scheduler_svc.store.providers.changes import (
    AddInventory,
    CreateProvider,
    ImportProvider,
    ProviderChange,
    ProviderState,
    Refusal,
    SetAggregates,
    SetInventories,
    SetTraits,
)
from scheduler_svc.store.records import (
    GroupHome,
    GroupMembership,
    HostReport,
    StatsOutcome,
    departure_key,
    home_key,
)

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
NOT_STORED = frozenset({Answer.UNKNOWN, Answer.CLOSED})  # of ``find``, for an attempt without claim and tombstone


class BoundedStore(ForwardingStore):
    """Raises StoreFull for new claims, pins, hosts and documents while their collection is at its bound.

    The bounds are compared with the last result of ``sizes``. Verbs that end, confirm or find something, audits, and
    the reports of hosts that the store knows are served at any size: a bound removes nothing that safety needs. So is
    what makes no collection grow: repeated calls, a claim in place of another one, pins that are stored, and documents
    that do not become longer. Only at a bound this costs a read.
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
        if not self.accepts_claims() and self._may_add_claims(batch):
            self._bounds.check(CLAIMS, TOMBSTONES)
        return super().prepare(batch)

    def prepare_all(self, batches: Sequence[ClaimBatch], log_after: int | None = None) -> BatchOutcomes:
        if self.accepts_claims():
            return super().prepare_all(batches, log_after)
        return Store.prepare_all(self, batches)  # each is checked

    def pin(self, key: str, partition: str, ttl_ms: int, instead_of: str | None = None) -> str:
        self._check_pin(key)
        return super().pin(key, partition, ttl_ms, instead_of)

    def group_home(self, group_id: str, partition: str, ttl_ms: int, instead_of: str = "") -> GroupHome:
        self._check_pin(home_key(group_id))
        return super().group_home(group_id, partition, ttl_ms, instead_of)

    def leave_group(
        self, group_id: str, generation: str, ttl_ms: int, *, only_if_certain: bool = False
    ) -> GroupMembership:
        if self._bounds.is_full(PINS) and not self.group_hosts(group_id):  # with members nothing is stored
            self._check_pin(departure_key(group_id))
        return super().leave_group(group_id, generation, ttl_ms, only_if_certain=only_if_certain)

    def update_stats(self, host: str, report: HostReport) -> StatsOutcome:
        if report.register and self._bounds.is_full(HOSTS) and not self._is_stored(host):
            self._bounds.check(HOSTS)
        return super().update_stats(host, report)

    def put_state(self, namespace: str, name: str, version: int, document: Mapping[str, Any]) -> int:
        is_full = namespace not in namespaces.BUILT_IN and self._bounds.is_full(DOCUMENTS)
        if is_full and len(documents.encode(document)) > self._document_length(namespace, name):
            self._bounds.check(DOCUMENTS)
        return super().put_state(namespace, name, version, document)

    def change_provider(self, change: ProviderChange) -> ProviderState | Refusal:
        if self._bounds.is_full(HOSTS) and self._may_grow(change):
            self._bounds.check(HOSTS)
        return super().change_provider(change)

    def import_providers(self, imports: Sequence[ImportProvider]) -> list[Refusal | None]:
        if self._bounds.is_full(HOSTS) and any(map(self._may_grow, imports)):
            self._bounds.check(HOSTS)
        return super().import_providers(imports)

    def allocate(self, changes: Sequence[AllocationChange]) -> Refusal | None:
        self._check_consumers(changes)
        return super().allocate(changes)

    def import_allocations(self, imports: Sequence[ConsumerImport], *, overwrite: bool = False) -> Refusal | None:
        self._check_consumers(imports)
        return super().import_allocations(imports, overwrite=overwrite)

    def reshape(self, inventories: Sequence[SetInventories], changes: Sequence[AllocationChange]) -> Refusal | None:
        self._check_consumers(changes)
        if self._bounds.is_full(HOSTS) and any(map(self._may_grow, inventories)):
            self._bounds.check(HOSTS)
        return super().reshape(inventories, changes)

    def _check_consumers(self, changes: Sequence[AllocationChange | ConsumerImport]) -> None:
        if self._bounds.is_full(CLAIMS):
            consumers = [change.consumer for change in changes if change.allocations]
            if len(self.read_allocations(consumers)) < len(consumers):
                self._bounds.check(CLAIMS)

    def _may_grow(self, change: ProviderChange) -> bool:
        """Return whether a provider would be new, or have more inventories, traits or aggregates than before."""
        stored = self.read_providers([change.provider]).get(change.provider)
        if isinstance(change, (CreateProvider, ImportProvider)):
            return stored is None
        if stored is None or isinstance(change, AddInventory):
            return stored is not None
        parts = {SetInventories: "inventories", SetTraits: "traits", SetAggregates: "aggregates"}.get(type(change))
        return parts is not None and len(getattr(change, parts)) > len(stored.document.get(parts, ()))

    def _may_add_claims(self, batch: ClaimBatch) -> bool:
        """Return whether a claim of the batch would be neither known, nor ended, nor in place of a live one."""
        live = self.hosts_of([intent.consumer for intent in batch.intents])
        results = self.find([ClaimRef(intent.consumer, intent.attempt) for intent in batch.intents])
        return any(result.consumer not in live and result.answer in NOT_STORED for result in results)

    def _check_pin(self, key: str) -> None:
        if self._bounds.is_full(PINS) and not self.has_pin(key):
            self._bounds.check(PINS)

    def _document_length(self, namespace: str, name: str) -> int:
        """Return the length of a stored document as text, 0 if there is none."""
        try:
            return len(documents.encode(self.get_state(namespace, name)[1]))
        except errors.UnknownHost:
            return 0

    def _is_stored(self, host: str) -> bool:
        try:
            self.get_state(namespaces.SERVICE, host)
        except errors.UnknownHost:
            return False
        return True
