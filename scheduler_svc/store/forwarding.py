# SPDX-License-Identifier: Apache-2.0
"""A store that passes every verb on to another one: the base of stores that change some verbs."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rpcapi.bounds import CollectionSize
from scheduler_svc.core.records import (
    BatchAnswer,
    BatchOutcomes,
    Claim,
    ClaimBatch,
    ClaimRef,
    ClaimResult,
    LogEntry,
    Snapshot,
)
from scheduler_svc.store.allocations import AllocationChange, ConsumerImport, ConsumerState, Usage
from scheduler_svc.store.interface import Store
from scheduler_svc.store.providers.changes import ImportProvider, ProviderChange, ProviderState, Refusal, SetInventories
from scheduler_svc.store.records import (
    COLLECT_MS,
    AuditOutcome,
    GroupHome,
    GroupMembership,
    HostReport,
    ReapResult,
    RunningClaim,
    StatsOutcome,
    Verification,
)


class ForwardingStore(Store):
    """Passes every verb on to ``store``."""

    def __init__(self, store: Store) -> None:
        self.partition = store.partition
        self._store = store

    def prepare(self, batch: ClaimBatch) -> BatchAnswer:
        return self._store.prepare(batch)

    def prepare_all(self, batches: Sequence[ClaimBatch], log_after: int | None = None) -> BatchOutcomes:
        return self._store.prepare_all(batches, log_after)

    def confirm(self, host: str, refs: Sequence[ClaimRef], *, host_uuid: str | None = None) -> list[ClaimResult]:
        return self._store.confirm(host, refs, host_uuid=host_uuid)

    def abort(
        self,
        refs: Sequence[ClaimRef],
        host: str | None = None,
        destinations: Sequence[str | None] | None = None,
        *,
        host_uuid: str | None = None,
    ) -> list[ClaimResult]:
        return self._store.abort(refs, host, destinations, host_uuid=host_uuid)

    def release(self, host: str, refs: Sequence[ClaimRef], *, host_uuid: str | None = None) -> list[ClaimResult]:
        return self._store.release(host, refs, host_uuid=host_uuid)

    def begin_moves(self, refs: Sequence[ClaimRef], migrations: Sequence[str]) -> list[ClaimResult]:
        return self._store.begin_moves(refs, migrations)

    def end_moves(self, refs: Sequence[ClaimRef], migrations: Sequence[str]) -> list[ClaimResult]:
        return self._store.end_moves(refs, migrations)

    def claims(
        self,
        *,
        host: str | None = None,
        consumer: str | None = None,
        marker: str | None = None,
        limit: int = 1000,
    ) -> tuple[list[Claim], str | None]:
        return self._store.claims(host=host, consumer=consumer, marker=marker, limit=limit)

    def prepared_claims(self, limit: int = 1000) -> list[Claim]:
        return self._store.prepared_claims(limit)

    def find(self, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
        return self._store.find(refs)

    def group_hosts(self, group_id: str) -> dict[str, int]:
        return self._store.group_hosts(group_id)

    def hosts_of(self, consumers: Sequence[str]) -> dict[str, str]:
        return self._store.hosts_of(consumers)

    def sources_of(self, consumers: Sequence[str], group_id: str) -> dict[str, str]:
        return self._store.sources_of(consumers, group_id)

    def clock_lead(self) -> int:
        return self._store.clock_lead()

    def clock_ms(self) -> int:
        return self._store.clock_ms()

    def verify(self) -> Verification:
        return self._store.verify()

    def audit(
        self,
        host: str,
        epoch: int,
        running: Sequence[RunningClaim],
        grace_ms: int,
        *,
        host_uuid: str | None = None,
    ) -> AuditOutcome:
        return self._store.audit(host, epoch, running, grace_ms, host_uuid=host_uuid)

    def vouch(self, host: str, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
        return self._store.vouch(host, refs)

    def fence(self, host: str, token: str, *, force: bool = False, replace: bool = False) -> int:
        return self._store.fence(host, token, force=force, replace=replace)

    def update_stats(self, host: str, report: HostReport) -> StatsOutcome:
        return self._store.update_stats(host, report)

    def heartbeat(self, host: str, binary: str) -> None:
        self._store.heartbeat(host, binary)

    def note_clock(self, name: str, sent_ms: int) -> None:
        self._store.note_clock(name, sent_ms)

    def remove(self, host: str, *, lost: bool = False) -> None:
        self._store.remove(host, lost=lost)

    def read_providers(self, ids: Sequence[str]) -> dict[str, ProviderState]:
        return self._store.read_providers(ids)

    def read_generations(self, ids: Sequence[str]) -> dict[str, int]:
        return self._store.read_generations(ids)

    def change_provider(self, change: ProviderChange) -> ProviderState | Refusal:
        return self._store.change_provider(change)

    def import_providers(self, imports: Sequence[ImportProvider]) -> list[Refusal | None]:
        return self._store.import_providers(imports)

    def retire(self, namespace: str, name: str, as_of: int) -> Refusal | None:
        return self._store.retire(namespace, name, as_of)

    def read_allocations(self, consumers: Sequence[str]) -> dict[str, ConsumerState]:
        return self._store.read_allocations(consumers)

    def list_holders(
        self, provider: str, marker: str | None = None, limit: int = 1000
    ) -> tuple[list[ConsumerState], str | None]:
        return self._store.list_holders(provider, marker, limit)

    def usages(self, project: str, user: str | None = None, consumer_type: str | None = None) -> dict[str, Usage]:
        return self._store.usages(project, user, consumer_type)

    def allocate(self, changes: Sequence[AllocationChange]) -> Refusal | None:
        return self._store.allocate(changes)

    def import_allocations(self, imports: Sequence[ConsumerImport], *, overwrite: bool = False) -> Refusal | None:
        return self._store.import_allocations(imports, overwrite=overwrite)

    def reshape(self, inventories: Sequence[SetInventories], changes: Sequence[AllocationChange]) -> Refusal | None:
        return self._store.reshape(inventories, changes)

    def get_state(self, namespace: str, name: str) -> tuple[int, dict[str, Any]]:
        return self._store.get_state(namespace, name)

    def list_state(
        self, namespace: str, marker: str | None = None, limit: int = 1000
    ) -> tuple[list[tuple[str, int, dict[str, Any]]], str | None]:
        return self._store.list_state(namespace, marker, limit)

    def put_state(self, namespace: str, name: str, version: int, document: Mapping[str, Any]) -> int:
        return self._store.put_state(namespace, name, version, document)

    def delete_state(self, namespace: str, name: str, version: int) -> None:
        self._store.delete_state(namespace, name, version)

    def settle_alive(self, living: Collection[str]) -> int:
        return self._store.settle_alive(living)

    def check_identity(self) -> tuple[int, bool]:
        return self._store.check_identity()

    def begin_epoch_if_behind(self, epoch: int, position: int) -> tuple[int, int]:
        return self._store.begin_epoch_if_behind(epoch, position)

    def snapshot(self, namespaces: Collection[str] = ()) -> Snapshot:
        return self._store.snapshot(namespaces)

    def follow(self, position: int, block_ms: int, limit: int = 1000) -> list[LogEntry] | None:
        return self._store.follow(position, block_ms, limit)

    def record_decision(self, request_id: str, document: Mapping[str, Any]) -> None:
        self._store.record_decision(request_id, document)

    def find_decision(self, request_id: str, project: str | None = None) -> dict[str, Any]:
        return self._store.find_decision(request_id, project)

    def list_decisions(
        self, marker: str | None = None, limit: int = 100
    ) -> tuple[list[tuple[str, dict[str, Any]]], str | None]:
        return self._store.list_decisions(marker, limit)

    def name_hosts(self, epoch: int, hosts: Sequence[str], *, complete: bool) -> bool:
        return self._store.name_hosts(epoch, hosts, complete=complete)

    def reap(
        self, *, dead_after_ms: int | None, tombstone_ms: int, collect_ms: int = COLLECT_MS, limit: int = 500
    ) -> ReapResult:
        return self._store.reap(
            dead_after_ms=dead_after_ms, tombstone_ms=tombstone_ms, collect_ms=collect_ms, limit=limit
        )

    def counts(self) -> Mapping[str, int]:
        return self._store.counts()

    def sizes(self) -> Mapping[str, CollectionSize]:
        return self._store.sizes()

    def trim_log(self, length: int) -> None:
        self._store.trim_log(length)

    def pin(self, key: str, partition: str, ttl_ms: int, instead_of: str | None = None) -> str:
        return self._store.pin(key, partition, ttl_ms, instead_of)

    def has_pin(self, key: str) -> bool:
        return self._store.has_pin(key)

    def group_home(self, group_id: str, partition: str, ttl_ms: int, instead_of: str = "") -> GroupHome:
        return self._store.group_home(group_id, partition, ttl_ms, instead_of)

    def leave_group(
        self, group_id: str, generation: str, ttl_ms: int, *, only_if_certain: bool = False
    ) -> GroupMembership:
        return self._store.leave_group(group_id, generation, ttl_ms, only_if_certain=only_if_certain)

    def accepts_claims(self) -> bool:
        return self._store.accepts_claims()

    def close(self) -> None:
        self._store.close()
