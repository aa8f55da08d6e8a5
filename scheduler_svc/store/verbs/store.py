# SPDX-License-Identifier: Apache-2.0
"""A store with the verbs in Python: each runs with exclusive access to the partition."""

import abc
import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, TypeVar

from rpcapi import errors
from rpcapi.bounds import CollectionSize
from scheduler_svc.core.records import BatchAnswer, Claim, ClaimBatch, ClaimRef, ClaimResult, Snapshot
from scheduler_svc.store import tallies, validation, verification
from scheduler_svc.store.allocations import AllocationChange, ConsumerImport, ConsumerState, Usage
from scheduler_svc.store.decisions import outcome
from scheduler_svc.store.interface import Store
from scheduler_svc.store.namespaces import Versioned
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
from scheduler_svc.store.verbs import (
    allocating,
    collecting,
    ending,
    fencing,
    importing,
    moves,
    pinning,
    providing,
    removal,
    reshaping,
    states,
)
from scheduler_svc.store.verbs import audit as auditing
from scheduler_svc.store.verbs import decisions as recorded
from scheduler_svc.store.verbs import prepare as preparing
from scheduler_svc.store.verbs.members import node_of
from scheduler_svc.store.verbs.partition import NEVER_MS, PartitionState

T = TypeVar("T")

ALL = 1 << 60  # claims past their deadline, when all of them must be ended first


class VerbStore(Store):
    """The verbs for any backend.

    A backend runs each step as a transaction with exclusive access to the partition, or as a read of one state.
    """

    @abc.abstractmethod
    def _transact(self, step: Callable[[PartitionState, int], T]) -> T:
        """Return what ``step`` returns, given the partition and its own time in milliseconds, which advances first.

        Raises StoreUnavailable.
        """

    @abc.abstractmethod
    def _read(self, step: Callable[[PartitionState], T]) -> T:
        """Return what ``step`` reads; raises StoreUnavailable."""

    def _prepare(self, batch: ClaimBatch) -> BatchAnswer | None:
        def step(partition: PartitionState, now: int) -> BatchAnswer | None:
            answer = preparing.prepare(partition, batch, now)
            if answer is not None and answer.current and batch.record is not None:
                document = {**batch.record, **outcome(batch, answer)}
                recorded.record(partition, batch.request_id, document, self._decision_bytes, now)
            return answer

        return self._transact(step)

    def _end_claims(
        self, verb: Literal["confirm", "release"], host: str, refs: Sequence[ClaimRef], host_uuid: str | None
    ) -> list[ClaimResult]:
        end = ending.confirm if verb == "confirm" else ending.release

        def step(partition: PartitionState, now: int) -> list[ClaimResult]:
            partition.check_identity(host, host_uuid)
            partition.prefetch(consumers={ref.consumer for ref in refs})
            return [end(partition, host, ref, now) for ref in refs]

        return self._transact(step)

    def _abort(
        self, refs: Sequence[ClaimRef], host: str | None, destinations: Sequence[str | None], host_uuid: str | None
    ) -> list[ClaimResult]:
        rows = list(zip(refs, destinations, strict=True))

        def step(partition: PartitionState, now: int) -> list[ClaimResult]:
            partition.check_identity(host or "", host_uuid)
            partition.prefetch(consumers={ref.consumer for ref in refs})
            return [ending.abort(partition, host, ref, destination, now) for ref, destination in rows]

        return self._transact(step)

    def _change_moves(
        self, verb: Literal["begin_moves", "end_moves"], refs: Sequence[ClaimRef], migrations: Sequence[str]
    ) -> list[ClaimResult]:
        change = moves.begin_move if verb == "begin_moves" else moves.end_move

        def step(partition: PartitionState, now: int) -> list[ClaimResult]:
            partition.prefetch(consumers={*(ref.consumer for ref in refs), *migrations})
            rows = zip(refs, migrations, strict=True)
            return [change(partition, ref, migration, now) for ref, migration in rows]

        return self._transact(step)

    def _claims(
        self, host: str | None, consumer: str | None, marker: str | None, limit: int
    ) -> tuple[list[Claim], str | None]:
        def step(partition: PartitionState, now: int) -> tuple[list[Claim], str | None]:
            partition.expire(now, validation.MAX_PAGE)
            return partition.page_of_claims(host, consumer, marker, limit)

        return self._transact(step)

    def _prepared_claims(self, limit: int) -> list[Claim]:
        def step(partition: PartitionState, now: int) -> list[Claim]:
            partition.expire(now, ALL)
            consumers = partition.due_consumers(NEVER_MS, limit)
            partition.prefetch(consumers=consumers)
            return [partition.claims[consumer] for consumer in consumers]

        return self._transact(step)

    def _find(self, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
        def step(partition: PartitionState, now: int) -> list[ClaimResult]:
            partition.prefetch(consumers={ref.consumer for ref in refs})
            return [ending.find(partition, ref, now) for ref in refs]

        return self._transact(step)

    def _group_hosts(self, group_id: str) -> dict[str, int]:
        def step(partition: PartitionState, now: int) -> dict[str, int]:
            partition.expire(now, ALL)
            return dict(partition.groups.get(group_id, {}))

        return self._transact(step)

    def _hosts_of(self, consumers: Sequence[str]) -> dict[str, str]:
        def step(partition: PartitionState, now: int) -> dict[str, str]:
            partition.prefetch(consumers=consumers)
            live_claims = {consumer: partition.live_claim(consumer, now) for consumer in consumers}
            return {consumer: node_of(partition, claim) for consumer, claim in live_claims.items() if claim is not None}

        return self._transact(step)

    def _sources_of(self, consumers: Sequence[str], group_id: str) -> dict[str, str]:
        def step(partition: PartitionState, now: int) -> dict[str, str]:
            partition.prefetch(consumers=consumers)
            sources = {consumer: moves.source_host_of(partition, consumer, group_id) for consumer in consumers}
            return {consumer: host for consumer, host in sources.items() if host is not None}

        return self._transact(step)

    def counts(self) -> Mapping[str, int]:
        return self._read(lambda partition: partition.counts())

    def _audit(
        self, host: str, epoch: int, running: Sequence[RunningClaim], grace_ms: int, host_uuid: str | None
    ) -> AuditOutcome:
        def step(partition: PartitionState, now: int) -> AuditOutcome:
            partition.check_identity(host, host_uuid)
            return auditing.audit(partition, host, epoch, running, grace_ms=grace_ms, now=now)

        return self._transact(step)

    def _vouch(self, host: str, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
        def step(partition: PartitionState, now: int) -> list[ClaimResult]:
            results = [auditing.vouch(partition, host, ref, now) for ref in refs]
            partition.flush(now, flag=True)
            return results

        return self._transact(step)

    def _fence(self, host: str, token: str, force: bool, replace: bool) -> int | None:
        return self._transact(
            lambda partition, now: fencing.fence(partition, host, token, now, force=force, replace=replace)
        )

    def clock_lead(self) -> int:
        return self._read(lambda partition: partition.lead_ms)

    def clock_ms(self) -> int:
        return self._transact(lambda partition, now: now + partition.lead_ms)

    def verify(self) -> Verification:
        self._transact(lambda partition, now: partition.expire(now, ALL))
        # A second, separate read: verbs need not wait while everything is read.
        return verification.verify(self._read(lambda partition: partition.dump()))

    def _name_hosts(self, epoch: int, hosts: Sequence[str], complete: bool) -> bool:
        return self._transact(lambda partition, _now: collecting.name_hosts(partition, epoch, hosts, complete=complete))

    def reap(
        self, *, dead_after_ms: int | None, tombstone_ms: int, collect_ms: int = COLLECT_MS, limit: int = 500
    ) -> ReapResult:
        def step(partition: PartitionState, now: int) -> ReapResult:
            ended, due = partition.expire(now, limit)
            partition.flush(now)
            if dead_after_ms is not None:
                states.mark_silent_down(partition, now - dead_after_ms)
            collecting.expire(partition, now - collect_ms)
            tombstones = partition.drop_tombstones(now - tombstone_ms, limit)
            pins = partition.drop_expired_pins(now, limit)
            return ReapResult(ended, max(due, tombstones, pins) >= limit, partition.prepared_ms())

        return self._transact(step)

    def _sizes(self) -> Mapping[str, CollectionSize]:
        return self._read(lambda partition: partition.sizes())

    def trim_log(self, length: int) -> None:
        self._transact(lambda partition, _now: partition.trim_log(length))

    def settle_alive(self, living: Collection[str]) -> int:
        return self._transact(lambda partition, _now: states.settle_alive(partition, living))

    def _pin(self, key: str, partition: str, ttl_ms: int, instead_of: str | None) -> str:
        return self._transact(lambda state, now: pinning.pin(state, key, partition, instead_of, now=now, ttl_ms=ttl_ms))

    def has_pin(self, key: str) -> bool:
        return self._read(lambda partition: key in partition.pins)

    def _group_home(self, group_id: str, partition: str, ttl_ms: int, instead_of: str) -> GroupHome:
        return self._transact(
            lambda state, now: pinning.group_home(state, group_id, partition, instead_of, now=now, ttl_ms=ttl_ms)
        )

    def _leave_group(self, group_id: str, generation: str, ttl_ms: int, only_if_certain: bool) -> GroupMembership:
        return self._transact(
            lambda state, now: pinning.leave_group(
                state, group_id, generation, now=now, ttl_ms=ttl_ms, only_if_certain=only_if_certain
            )
        )

    def _update_stats(self, host: str, report: HostReport) -> StatsOutcome:
        outcome = self._transact(lambda partition, now: states.update_stats(partition, host, report, now))
        if isinstance(outcome, errors.GanttError):
            raise outcome
        return outcome

    def _heartbeat(self, name: str, binary: str) -> None:
        self._transact(lambda partition, now: states.beat(partition, name, binary, now))

    def _note_clock(self, name: str, sent_ms: int) -> None:
        self._transact(lambda partition, now: states.note_clock(partition, name, sent_ms, now))

    def _get_state(self, namespace: str, name: str) -> Versioned:
        return self._read(lambda partition: copy.deepcopy(states.get_state(partition, namespace, name)))

    def _list_state(
        self, namespace: str, marker: str | None, limit: int
    ) -> tuple[list[tuple[str, int, dict[str, Any]]], str | None]:
        return self._read(lambda partition: copy.deepcopy(states.list_state(partition, namespace, marker, limit)))

    def _put_state(self, namespace: str, name: str, version: int, document: Mapping[str, Any]) -> int:
        copied = copy.deepcopy(document)
        return self._transact(lambda partition, _now: states.put_state(partition, namespace, name, version, copied))

    def _delete_state(self, namespace: str, name: str, version: int) -> None:
        self._transact(lambda partition, _now: states.delete_state(partition, namespace, name, version))

    def _remove(self, host: str, is_lost: bool) -> None:
        self._transact(lambda partition, now: removal.remove(partition, self.partition, host, now, lost=is_lost))

    def begin_epoch_if_behind(self, epoch: int, position: int) -> tuple[int, int]:
        return self._transact(lambda partition, now: partition.begin_epoch_if_behind(epoch, position, now))

    def _snapshot(self, namespaces: Collection[str]) -> Snapshot:
        return self._read(lambda partition: partition.snapshot(namespaces))

    def _record_decision(self, request_id: str, document: Mapping[str, Any]) -> None:
        self._transact(
            lambda partition, now: recorded.record(partition, request_id, document, self._decision_bytes, now)
        )

    def _find_decision(self, request_id: str, project: str | None) -> dict[str, Any]:
        return self._read(lambda partition: recorded.find(partition, request_id, project))

    def _list_decisions(self, marker: str | None, limit: int) -> tuple[list[tuple[str, dict[str, Any]]], str | None]:
        return self._read(lambda partition: recorded.page(partition, marker, limit))

    def _read_providers(self, ids: Sequence[str]) -> dict[str, ProviderState]:
        return self._read(lambda partition: copy.deepcopy(providing.read(partition, ids)))

    def _read_generations(self, ids: Sequence[str]) -> dict[str, int]:
        return self._read(lambda partition: providing.read_generations(partition, ids))

    def _change_provider(self, change: ProviderChange) -> ProviderState | Refusal:
        return self._transact(lambda partition, now: copy.deepcopy(providing.change(partition, change, now)))

    def _import_providers(self, imports: Sequence[ImportProvider]) -> list[Refusal | None]:
        return self._transact(lambda partition, now: providing.import_all(partition, imports, now))

    def _retire(self, namespace: str, name: str, as_of: int) -> Refusal | None:
        return self._transact(lambda partition, _now: providing.retire(partition, namespace, name, as_of))

    def _read_allocations(self, consumers: Sequence[str]) -> dict[str, ConsumerState]:
        return self._transact(lambda partition, now: copy.deepcopy(allocating.read(partition, consumers, now)))

    def _list_holders(self, provider: str, marker: str | None, limit: int) -> tuple[list[ConsumerState], str | None]:
        return self._transact(
            lambda partition, now: copy.deepcopy(allocating.list_holders(partition, provider, marker, limit, now))
        )

    def _usages(self, project: str, user: str | None, consumer_type: str | None) -> dict[str, Usage]:
        def step(partition: PartitionState, now: int) -> dict[str, Usage]:
            partition.expire(now, ALL)
            return tallies.usages(tallies.rows_of(partition.tallies_of(project), user), consumer_type)

        return self._transact(step)

    def _allocate(self, changes: Sequence[AllocationChange]) -> Refusal | None:
        copied = copy.deepcopy(changes)
        return self._transact(lambda partition, now: allocating.allocate(partition, copied, now))

    def _import_allocations(self, imports: Sequence[ConsumerImport], overwrite: bool) -> Refusal | None:
        copied = copy.deepcopy(imports)
        return self._transact(
            lambda partition, now: importing.import_allocations(partition, copied, now, overwrite=overwrite)
        )

    def _reshape(self, inventories: Sequence[SetInventories], changes: Sequence[AllocationChange]) -> Refusal | None:
        copied = copy.deepcopy(changes)
        return self._transact(lambda partition, now: reshaping.reshape(partition, inventories, copied, now))
