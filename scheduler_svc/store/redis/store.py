# SPDX-License-Identifier: Apache-2.0
"""The Redis backend: each verb validates its input, runs one script, and decodes its answer."""

from collections.abc import Collection, Mapping, Sequence
from itertools import compress
from typing import Any

from rpcapi import errors
from rpcapi.bounds import CollectionSize
from rpcapi.conf import redis_nodes
from rpcapi.conf.replicas import ReplicaAcknowledgement
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
from scheduler_svc.store import reports, validation, verification
from scheduler_svc.store.records import (
    COLLECT_MS,
    DECISION_BYTES,
    MAX_CLOCK_OFFSET_MS,
    MAX_STEP_MS,
    AuditOutcome,
    Durability,
    GroupHome,
    GroupMembership,
    HostReport,
    Liveness,
    ReapResult,
    RunningClaim,
    StatsOutcome,
    Verification,
)
from scheduler_svc.store.redis import audit, claims, clock, decisions, log, prepare, sizes, snapshot
from scheduler_svc.store.redis.api_store import RedisApiStore
from scheduler_svc.store.redis.connect import RedisConnection
from scheduler_svc.store.redis.identity import RedisIdentity
from scheduler_svc.store.redis.keys import prefix
from scheduler_svc.store.redis.states import RedisHostStates

MAX_REAP = 1000


class RedisStore(RedisApiStore):
    """A partition in Redis; may be shared by threads, but not by processes."""

    def __init__(
        self,
        url: str,
        partition: str,
        *,
        durability: Durability = "everysec",
        log_length: int = 100_000,
        decision_bytes: int = DECISION_BYTES,
        liveness: Liveness = "beats",
        namespaces: Collection[str] = (),
        replicas: ReplicaAcknowledgement | None = None,
        max_step_ms: int = MAX_STEP_MS,
        wait_seconds: float | None = None,
    ) -> None:
        self.partition = partition
        self._decision_bytes = decision_bytes
        # A server's durability guarantees nothing where another server may take over.
        effective = "everysec" if redis_nodes.has_multiple_servers(url) else durability
        identity = RedisIdentity(partition, effective, log_length)
        self._connection = RedisConnection(
            url, partition, identity, log_length, replicas, max_step_ms=max_step_ms, wait_seconds=wait_seconds
        )
        self._declared = frozenset(namespaces)
        self._states = RedisHostStates(self._connection, self._declared, liveness)

    def prepare(self, batch: ClaimBatch) -> BatchAnswer:
        validation.check_batch(batch)
        rows, arguments = self._prepare_arguments(batch)
        while not (raw := self._connection.run("prepare", rows, **arguments)):
            pass  # it ended as many claims past their deadline as one script may
        return self._prepare_answer(batch, raw)

    def prepare_all(self, batches: Sequence[ClaimBatch], log_after: int | None = None) -> BatchOutcomes:
        if len(batches) == 1 and log_after is None:
            return super().prepare_all(batches)
        valid = [validation.is_valid_batch(batch) for batch in batches]
        calls = [*map(self._prepare_arguments, compress(batches, valid))]
        read = [] if log_after is None else [log.read_command(self.partition, log_after)]
        raws = iter(self._connection.run_each("prepare", calls, read))
        outcomes: list[BatchAnswer | errors.GanttError] = []
        for batch, is_valid in zip(batches, valid, strict=True):
            raw = next(raws) if is_valid else None
            # What was refused, failed, or only ended claims past their deadline, is answered on its own.
            outcomes += (
                [self._prepare_answer(batch, raw)]
                if isinstance(raw, list) and raw
                else super().prepare_all([batch]).outcomes
            )
        return BatchOutcomes(outcomes, None if log_after is None else log.carried(log_after, next(raws), outcomes))

    def _prepare_arguments(self, batch: ClaimBatch) -> tuple[list[Any], dict[str, Any]]:
        return list(prepare.rows(batch)), {**prepare.arguments(batch), "decision_bytes": self._decision_bytes}

    def _prepare_answer(self, batch: ClaimBatch, raw: list[Any]) -> BatchAnswer:
        answer = prepare.answer(batch, raw)
        self._connection.identity.observe(answer.epoch, answer.position)
        return answer

    def confirm(self, host: str, refs: Sequence[ClaimRef], *, host_uuid: str | None = None) -> list[ClaimResult]:
        validation.check_service_host(host)
        return self._end_claims("confirm", host, refs, host_uuid)

    def abort(
        self,
        refs: Sequence[ClaimRef],
        host: str | None = None,
        destinations: Sequence[str | None] | None = None,
        *,
        host_uuid: str | None = None,
    ) -> list[ClaimResult]:
        destinations = validation.check_abort(refs, host, destinations)
        return claims.abort(self._connection, host, refs, destinations, host_uuid)

    def release(self, host: str, refs: Sequence[ClaimRef], *, host_uuid: str | None = None) -> list[ClaimResult]:
        validation.check_service_host(host)
        return self._end_claims("release", host, refs, host_uuid)

    def begin_moves(self, refs: Sequence[ClaimRef], migrations: Sequence[str]) -> list[ClaimResult]:
        checked = validation.check_moves(refs, migrations)
        return claims.change_moves(self._connection, "begin_moves", refs, checked)

    def end_moves(self, refs: Sequence[ClaimRef], migrations: Sequence[str]) -> list[ClaimResult]:
        checked = validation.check_moves(refs, migrations)
        return claims.change_moves(self._connection, "end_moves", refs, checked)

    def claims(
        self, *, host: str | None = None, consumer: str | None = None, marker: str | None = None, limit: int = 1000
    ) -> tuple[list[Claim], str | None]:
        for name in (host, consumer):
            if name is not None:
                validation.check_name(name)
        validation.check_page(limit)
        validation.check_marker(marker)
        return claims.page(self._connection, host, consumer, marker, limit)

    def prepared_claims(self, limit: int = 1000) -> list[Claim]:
        validation.check_page(limit)
        return claims.prepared(self._connection, limit)

    def find(self, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
        validation.check_refs(refs)
        return claims.find(self._connection, refs)

    def group_hosts(self, group_id: str) -> dict[str, int]:
        validation.check_name(group_id)
        return claims.group_hosts(self._connection, group_id)

    def hosts_of(self, consumers: Sequence[str]) -> dict[str, str]:
        validation.check_consumers(consumers)
        return claims.hosts_of(self._connection, consumers)

    def sources_of(self, consumers: Sequence[str], group_id: str) -> dict[str, str]:
        validation.check_consumers(consumers)
        validation.check_name(group_id)
        return claims.sources_of(self._connection, consumers, group_id)

    def counts(self) -> Mapping[str, int]:
        return claims.counts(self._connection)

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
        return audit.audit(self._connection, host, epoch, running, grace_ms, host_uuid=host_uuid)

    def vouch(self, host: str, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
        validation.check_service_host(host)
        validation.check_refs(refs)
        return claims.vouch(self._connection, host, refs)

    def fence(self, host: str, token: str, *, force: bool = False, replace: bool = False) -> int:
        validation.check_service_host(host)
        validation.check_name(token)
        return claims.fence(self._connection, host, token, force, replace)

    def clock_lead(self) -> int:
        return clock.read_lead(self._connection)

    def clock_ms(self) -> int:
        return int(self._connection.run("clock"))

    def verify(self) -> Verification:
        return verification.verify(claims.dump(self._connection))

    def name_hosts(self, epoch: int, hosts: Sequence[str], *, complete: bool) -> bool:
        validation.check_named_hosts(hosts)
        return bool(self._connection.run("name_hosts", hosts, epoch=epoch, complete=int(complete)))

    def reap(
        self, *, dead_after_ms: int | None, tombstone_ms: int, collect_ms: int = COLLECT_MS, limit: int = 500
    ) -> ReapResult:
        ended, remains, prepared_ms = self._connection.run(
            "reap",
            silence_ms="" if dead_after_ms is None else dead_after_ms,
            collect_ms=collect_ms,
            tombstone_ms=tombstone_ms,
            limit=min(limit, MAX_REAP),
        )
        return ReapResult(ended, bool(remains), prepared_ms)

    def sizes(self) -> Mapping[str, CollectionSize]:
        return sizes.sizes(self._connection, self._declared)

    def trim_log(self, length: int) -> None:
        sizes.trim_log(self._connection, length)

    def settle_alive(self, living: Collection[str]) -> int:
        return self._states.settle_alive(living)

    def pin(self, key: str, partition: str, ttl_ms: int, instead_of: str | None = None) -> str:
        validation.check_text("key", key)
        validation.check_number("lifetime in milliseconds", ttl_ms, 1, validation.MAX_TTL_MS)
        return self._connection.run("pin", key=key, partition=partition, ttl_ms=ttl_ms, replaceable=instead_of or "")

    def has_pin(self, key: str) -> bool:
        return bool(self._connection.read(lambda pipe: pipe.hexists(prefix(self.partition) + "pins", key))[0])

    def group_home(self, group_id: str, partition: str, ttl_ms: int, instead_of: str = "") -> GroupHome:
        validation.check_group_home(group_id, partition, ttl_ms)
        return GroupHome(
            *self._connection.run(
                "group_home", group=group_id, partition=partition, ttl_ms=ttl_ms, replaceable=instead_of
            )
        )

    def leave_group(
        self, group_id: str, generation: str, ttl_ms: int, *, only_if_certain: bool = False
    ) -> GroupMembership:
        validation.check_group_home(group_id, self.partition, ttl_ms)
        members, may_have_forgotten = self._connection.run(
            "leave_group",
            group=group_id,
            generation=generation,
            ttl_ms=ttl_ms,
            only_if_certain=int(only_if_certain),
        )
        return GroupMembership(members, bool(may_have_forgotten))

    def update_stats(self, host: str, report: HostReport) -> StatsOutcome:
        reports.check(host, report)
        return self._states.update_stats(host, report)

    def heartbeat(self, host: str, binary: str) -> None:
        validation.check_service_host(host)
        name = reports.service_name(host, binary)
        validation.check_name(name)
        self._states.heartbeat(name, binary)

    def note_clock(self, name: str, sent_ms: int) -> None:
        validation.check_name(name)
        self._connection.run("note_clock", name=name, sent_ms=sent_ms, least_ms=MAX_CLOCK_OFFSET_MS)

    def get_state(self, namespace: str, name: str) -> tuple[int, dict[str, Any]]:
        return self._states.get(namespace, name)

    def list_state(
        self, namespace: str, marker: str | None = None, limit: int = 1000
    ) -> tuple[list[tuple[str, int, dict[str, Any]]], str | None]:
        validation.check_page(limit)
        validation.check_marker(marker)
        return self._states.page(namespace, marker, limit)

    def put_state(self, namespace: str, name: str, version: int, document: Mapping[str, Any]) -> int:
        validation.check_name(name)
        return self._states.put(namespace, name, version, document)

    def delete_state(self, namespace: str, name: str, version: int) -> None:
        self._states.delete(namespace, name, version)

    def remove(self, host: str, *, lost: bool = False) -> None:
        validation.check_service_host(host)
        self._states.remove(host, lost=lost)

    def snapshot(self, namespaces: Collection[str] = ()) -> Snapshot:
        return snapshot.snapshot(self._connection, namespaces)

    def follow(self, position: int, block_ms: int, limit: int = 1000) -> list[LogEntry] | None:
        return log.follow(self._connection, position, block_ms, limit)

    def check_identity(self) -> tuple[int, bool]:
        return self._connection.check_identity(), self._connection.identity.take_epoch_change()

    def begin_epoch_if_behind(self, epoch: int, position: int) -> tuple[int, int]:
        return self._connection.begin_epoch_if_behind(epoch, position)

    def record_decision(self, request_id: str, document: Mapping[str, Any]) -> None:
        validation.check_text("request_id", request_id)
        decisions.record(self._connection, request_id, document, self._decision_bytes)

    def find_decision(self, request_id: str, project: str | None = None) -> dict[str, Any]:
        validation.check_text("request_id", request_id)
        return decisions.find(self._connection, request_id, project)

    def list_decisions(
        self, marker: str | None = None, limit: int = 100
    ) -> tuple[list[tuple[str, dict[str, Any]]], str | None]:
        validation.check_page(limit)
        return decisions.page(self._connection, marker, limit)

    def close(self) -> None:
        self._connection.close()

    def _end_claims(self, verb: str, host: str, refs: Sequence[ClaimRef], host_uuid: str | None) -> list[ClaimResult]:
        validation.check_refs(refs)
        return claims.end_claims(self._connection, verb, host, refs, host_uuid)
