# SPDX-License-Identifier: Apache-2.0
"""A store with the verbs in Python: each validates its input, and runs with exclusive access to the partition."""

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from rpcapi import errors
from rpcapi.bounds import CollectionSize
from scheduler_svc.core.records import BatchAnswer, Claim, ClaimBatch, ClaimRef, ClaimResult, Snapshot
from scheduler_svc.store import namespaces as rules
from scheduler_svc.store import reports, validation, verification
from scheduler_svc.store.decisions import outcome, project_of
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
from scheduler_svc.store.verbs import audit as auditing
from scheduler_svc.store.verbs import collecting, ending, fencing, moves, pinning, removal, states
from scheduler_svc.store.verbs import decisions as recorded
from scheduler_svc.store.verbs import prepare as preparing
from scheduler_svc.store.verbs.api_store import ALL, ApiVerbStore
from scheduler_svc.store.verbs.members import node_of
from scheduler_svc.store.verbs.partition import NEVER_MS, PartitionState

T = TypeVar("T")


class VerbStore(ApiVerbStore):
    """The verbs for any backend.

    A backend runs a step as a transaction with exclusive access to the partition, at the partition's time
    (``_transact``), or as a read of one consistent state (``_read``).
    """

    def __init__(self, partition: str, *, decision_bytes: int, namespaces: Collection[str]) -> None:
        self.partition = partition
        self._decision_bytes = decision_bytes
        self._declared = frozenset(namespaces)

    def prepare(self, batch: ClaimBatch) -> BatchAnswer:
        validation.check_batch(batch)

        def step(partition: PartitionState, now: int) -> BatchAnswer | None:
            answer = preparing.prepare(partition, batch, now)
            if answer is not None and answer.current and batch.record is not None:
                document = {**batch.record, **outcome(batch, answer)}
                recorded.record(partition, batch.request_id, document, self._decision_bytes, now)
            return answer

        while (answer := self._transact(step)) is None:
            pass  # it ended as many claims past their deadline as one transaction may
        return answer

    def confirm(self, host: str, refs: Sequence[ClaimRef], *, host_uuid: str | None = None) -> list[ClaimResult]:
        validation.check_service_host(host)
        return self._apply_to_refs(
            refs, lambda partition, ref, now: ending.confirm(partition, host, ref, now), (host, host_uuid)
        )

    def abort(
        self,
        refs: Sequence[ClaimRef],
        host: str | None = None,
        destinations: Sequence[str | None] | None = None,
        *,
        host_uuid: str | None = None,
    ) -> list[ClaimResult]:
        rows = list(zip(refs, validation.check_abort(refs, host, destinations), strict=True))

        def step(partition: PartitionState, now: int) -> list[ClaimResult]:
            partition.check_identity(host or "", host_uuid)
            partition.prefetch(consumers={ref.consumer for ref in refs})
            return [ending.abort(partition, host, ref, destination, now) for ref, destination in rows]

        return self._transact(step)

    def release(self, host: str, refs: Sequence[ClaimRef], *, host_uuid: str | None = None) -> list[ClaimResult]:
        validation.check_service_host(host)
        return self._apply_to_refs(
            refs, lambda partition, ref, now: ending.release(partition, host, ref, now), (host, host_uuid)
        )

    def begin_moves(self, refs: Sequence[ClaimRef], migrations: Sequence[str]) -> list[ClaimResult]:
        return self._apply_to_moves(refs, migrations, moves.begin_move)

    def end_moves(self, refs: Sequence[ClaimRef], migrations: Sequence[str]) -> list[ClaimResult]:
        return self._apply_to_moves(refs, migrations, moves.end_move)

    def claims(
        self, *, host: str | None = None, consumer: str | None = None, marker: str | None = None, limit: int = 1000
    ) -> tuple[list[Claim], str | None]:
        for name in (host, consumer):
            if name is not None:
                validation.check_name(name)
        validation.check_page(limit)
        validation.check_marker(marker)

        def step(partition: PartitionState, now: int) -> tuple[list[Claim], str | None]:
            partition.expire(now, validation.MAX_PAGE)
            return partition.page_of_claims(host, consumer, marker, limit)

        return self._transact(step)

    def prepared_claims(self, limit: int = 1000) -> list[Claim]:
        validation.check_page(limit)

        def step(partition: PartitionState, now: int) -> list[Claim]:
            partition.expire(now, ALL)
            consumers = partition.due_consumers(NEVER_MS, limit)
            partition.prefetch(consumers=consumers)
            return [partition.claims[consumer] for consumer in consumers]

        return self._transact(step)

    def find(self, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
        return self._apply_to_refs(refs, ending.find)

    def group_hosts(self, group_id: str) -> dict[str, int]:
        validation.check_name(group_id)

        def step(partition: PartitionState, now: int) -> dict[str, int]:
            partition.expire(now, ALL)
            return dict(partition.groups.get(group_id, {}))

        return self._transact(step)

    def hosts_of(self, consumers: Sequence[str]) -> dict[str, str]:
        validation.check_consumers(consumers)

        def step(partition: PartitionState, now: int) -> dict[str, str]:
            partition.prefetch(consumers=consumers)
            live_claims = {consumer: partition.live_claim(consumer, now) for consumer in consumers}
            return {consumer: node_of(partition, claim) for consumer, claim in live_claims.items() if claim is not None}

        return self._transact(step)

    def sources_of(self, consumers: Sequence[str], group_id: str) -> dict[str, str]:
        validation.check_consumers(consumers)
        validation.check_name(group_id)

        def step(partition: PartitionState, now: int) -> dict[str, str]:
            partition.prefetch(consumers=consumers)
            sources = {consumer: moves.source_host_of(partition, consumer, group_id) for consumer in consumers}
            return {consumer: host for consumer, host in sources.items() if host is not None}

        return self._transact(step)

    def counts(self) -> Mapping[str, int]:
        return self._read(lambda partition: partition.counts())

    def audit(
        self,
        host: str,
        epoch: int,
        running: Sequence[RunningClaim],
        grace_ms: int,
        *,
        host_uuid: str | None = None,
    ) -> AuditOutcome:
        validation.check_service_host(host)
        validation.check_running(host, running)
        validation.check_number("grace in milliseconds", grace_ms, 0, validation.MAX_TTL_MS)

        def step(partition: PartitionState, now: int) -> AuditOutcome:
            partition.check_identity(host, host_uuid)
            return auditing.audit(partition, host, epoch, running, grace_ms=grace_ms, now=now)

        return self._transact(step)

    def vouch(self, host: str, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
        validation.check_service_host(host)
        validation.check_refs(refs)

        def step(partition: PartitionState, now: int) -> list[ClaimResult]:
            results = [auditing.vouch(partition, host, ref, now) for ref in refs]
            partition.flush(now, flag=True)
            return results

        return self._transact(step)

    def fence(self, host: str, token: str, *, force: bool = False, replace: bool = False) -> int:
        validation.check_service_host(host)
        validation.check_name(token)

        def step(partition: PartitionState, now: int) -> int | None:
            return fencing.fence(partition, host, token, now, force=force, replace=replace)

        return fencing.complete(lambda: self._transact(step))

    def clock_lead(self) -> int:
        return self._read(lambda partition: partition.lead_ms)

    def clock_ms(self) -> int:
        return self._transact(lambda partition, now: now + partition.lead_ms)

    def verify(self) -> Verification:
        self._transact(lambda partition, now: partition.expire(now, ALL))
        # A second, separate read: verbs need not wait while everything is read.
        return verification.verify(self._read(lambda partition: partition.dump()))

    def name_hosts(self, epoch: int, hosts: Sequence[str], *, complete: bool) -> bool:
        validation.check_named_hosts(hosts)
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

    def sizes(self) -> Mapping[str, CollectionSize]:
        return self._read(lambda partition: partition.sizes())

    def trim_log(self, length: int) -> None:
        self._transact(lambda partition, _now: partition.trim_log(length))

    def settle_alive(self, living: Collection[str]) -> int:
        return self._transact(lambda partition, _now: states.settle_alive(partition, living))

    def pin(self, key: str, partition: str, ttl_ms: int, instead_of: str | None = None) -> str:
        validation.check_text("key", key)
        validation.check_number("lifetime in milliseconds", ttl_ms, 1, validation.MAX_TTL_MS)
        return self._transact(lambda state, now: pinning.pin(state, key, partition, instead_of, now=now, ttl_ms=ttl_ms))

    def has_pin(self, key: str) -> bool:
        return self._read(lambda partition: key in partition.pins)

    def group_home(self, group_id: str, partition: str, ttl_ms: int, instead_of: str = "") -> GroupHome:
        validation.check_group_home(group_id, partition, ttl_ms)
        return self._transact(
            lambda state, now: pinning.group_home(state, group_id, partition, instead_of, now=now, ttl_ms=ttl_ms)
        )

    def leave_group(
        self, group_id: str, generation: str, ttl_ms: int, *, only_if_certain: bool = False
    ) -> GroupMembership:
        validation.check_group_home(group_id, self.partition, ttl_ms)
        return self._transact(
            lambda state, now: pinning.leave_group(
                state, group_id, generation, now=now, ttl_ms=ttl_ms, only_if_certain=only_if_certain
            )
        )

    def update_stats(self, host: str, report: HostReport) -> StatsOutcome:
        reports.check(host, report)
        outcome = self._transact(lambda partition, now: states.update_stats(partition, host, report, now))
        if isinstance(outcome, errors.GanttError):
            raise outcome
        return outcome

    def heartbeat(self, host: str, binary: str) -> None:
        validation.check_service_host(host)
        name = reports.service_name(host, binary)
        validation.check_name(name)
        self._transact(lambda partition, now: states.beat(partition, name, binary, now))

    def note_clock(self, name: str, sent_ms: int) -> None:
        validation.check_name(name)
        self._transact(lambda partition, now: states.note_clock(partition, name, sent_ms, now))

    def get_state(self, namespace: str, name: str) -> tuple[int, dict[str, Any]]:
        rules.check(namespace, self._declared)
        validation.check_name(name)
        return self._read(lambda partition: copy.deepcopy(states.get_state(partition, namespace, name)))

    def list_state(
        self, namespace: str, marker: str | None = None, limit: int = 1000
    ) -> tuple[list[tuple[str, int, dict[str, Any]]], str | None]:
        rules.check(namespace, self._declared)
        validation.check_page(limit)
        validation.check_marker(marker)
        return self._read(lambda partition: copy.deepcopy(states.list_state(partition, namespace, marker, limit)))

    def put_state(self, namespace: str, name: str, version: int, document: Mapping[str, Any]) -> int:
        validation.check_name(name)
        rules.check(namespace, self._declared)
        rules.check_document(namespace, document)
        copied = copy.deepcopy(document)
        return self._transact(lambda partition, _now: states.put_state(partition, namespace, name, version, copied))

    def delete_state(self, namespace: str, name: str, version: int) -> None:
        rules.check(namespace, self._declared)
        rules.check_deletable(namespace)
        validation.check_name(name)
        self._transact(lambda partition, _now: states.delete_state(partition, namespace, name, version))

    def remove(self, host: str, *, lost: bool = False) -> None:
        validation.check_service_host(host)
        self._transact(lambda partition, now: removal.remove(partition, self.partition, host, now, lost=lost))

    def begin_epoch_if_behind(self, epoch: int, position: int) -> tuple[int, int]:
        return self._transact(lambda partition, now: partition.begin_epoch_if_behind(epoch, position, now))

    def snapshot(self, namespaces: Collection[str] = ()) -> Snapshot:
        return self._read(lambda partition: partition.snapshot(namespaces))

    def record_decision(self, request_id: str, document: Mapping[str, Any]) -> None:
        validation.check_text("request_id", request_id)
        validation.check_text("project", project_of(document))
        self._transact(
            lambda partition, now: recorded.record(partition, request_id, document, self._decision_bytes, now)
        )

    def find_decision(self, request_id: str, project: str | None = None) -> dict[str, Any]:
        validation.check_text("request_id", request_id)
        return self._read(lambda partition: recorded.find(partition, request_id, project))

    def list_decisions(
        self, marker: str | None = None, limit: int = 100
    ) -> tuple[list[tuple[str, dict[str, Any]]], str | None]:
        validation.check_page(limit)
        return self._read(lambda partition: recorded.page(partition, marker, limit))

    def _apply_to_refs(
        self,
        refs: Sequence[ClaimRef],
        verb: Callable[[PartitionState, ClaimRef, int], ClaimResult],
        caller: tuple[str, str | None] = ("", None),
    ) -> list[ClaimResult]:
        """Apply a verb to each claim; ``caller`` is the service host whose agent calls, and its state folder's uuid."""
        validation.check_refs(refs)

        def step(partition: PartitionState, now: int) -> list[ClaimResult]:
            partition.check_identity(*caller)
            partition.prefetch(consumers={ref.consumer for ref in refs})
            return [verb(partition, ref, now) for ref in refs]

        return self._transact(step)

    def _apply_to_moves(
        self,
        refs: Sequence[ClaimRef],
        migrations: Sequence[str],
        verb: Callable[[PartitionState, ClaimRef, str, int], ClaimResult],
    ) -> list[ClaimResult]:
        rows = list(zip(refs, validation.check_moves(refs, migrations), strict=True))

        def step(partition: PartitionState, now: int) -> list[ClaimResult]:
            partition.prefetch(consumers={*(ref.consumer for ref in refs), *migrations})
            return [verb(partition, ref, migration, now) for ref, migration in rows]

        return self._transact(step)
