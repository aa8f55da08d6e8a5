# SPDX-License-Identifier: Apache-2.0
"""The Redis backend: each verb checks its input, runs one script, and reads its answer."""

from collections.abc import Mapping, Sequence
from typing import Any

from rpcapi import errors
from scheduler_svc.store import documents, interface, namespaces, records, reports, validation, verification
from scheduler_svc.store.redis import audit, claims, log, prepare
from scheduler_svc.store.redis.connect import Connection
from scheduler_svc.store.redis.identity import Identity
from scheduler_svc.store.redis.keys import prefix
from scheduler_svc.store.redis.states import States

MAX_REAP = 1000


class RedisStore(interface.Store):
    """A partition in Redis; may be shared by threads, and is opened anew in each process."""

    def __init__(
        self,
        url: str,
        partition: str,
        *,
        durability: records.Durability = "everysec",
        log_length: int = 100_000,
        decisions: int = 10_000,
    ) -> None:
        self.partition = partition
        self._most_decisions = decisions
        self._connection = Connection(url, partition, Identity(partition, durability, log_length), log_length)
        self._states = States(self._connection)

    def prepare(self, batch: records.Batch) -> records.BatchAnswer:
        validation.check_batch(batch)
        raw = self._connection.run("prepare", *prepare.arguments(batch, self._most_decisions))
        answer = prepare.answer(batch, raw)
        self._connection.identity.saw(answer.epoch, answer.position)
        return answer

    def confirm(self, host: str, refs: Sequence[records.Ref]) -> list[records.Ended]:
        validation.check_service_host(host)
        return self._end_each("confirm", host, refs)

    def abort(self, refs: Sequence[records.Ref], host: str | None = None) -> list[records.Ended]:
        if host is not None:
            validation.check_service_host(host)
        return self._end_each("abort", host, refs)

    def release(self, host: str, refs: Sequence[records.Ref]) -> list[records.Ended]:
        validation.check_service_host(host)
        return self._end_each("release", host, refs)

    def move(self, ref: records.Ref, to: records.Ref, consumer_type: str) -> records.Ended:
        validation.check_refs([ref, to])
        validation.check_text("consumer_type", consumer_type)
        return claims.move(self._connection, ref, to, consumer_type)

    def claims(
        self, *, host: str | None = None, consumer: str | None = None, marker: str | None = None, limit: int = 1000
    ) -> tuple[list[records.Claim], str | None]:
        for name in (host, consumer):
            if name is not None:
                validation.check_name(name)
        validation.check_page(limit)
        return claims.page(self._connection, host, consumer, marker, limit)

    def group_hosts(self, group_id: str) -> dict[str, int]:
        validation.check_name(group_id)
        return claims.group_hosts(self._connection, group_id)

    def counts(self) -> Mapping[str, int]:
        return claims.counts(self._connection)

    def audit(self, host: str, epoch: int, running: Sequence[records.Running], grace_ms: int) -> records.AuditOutcome:
        validation.check_service_host(host)
        validation.check_running(host, running)
        validation.check_number("grace in milliseconds", grace_ms, 0, validation.MAX_TTL_MS)
        return audit.audit(self._connection, host, epoch, running, grace_ms)

    def fence(self, host: str) -> int:
        validation.check_service_host(host)
        return claims.fence(self._connection, host)

    def verify(self) -> records.Verification:
        return verification.verify(claims.look(self._connection))

    def reap(self, *, dead_after_ms: int, tombstone_ms: int, limit: int = 500) -> int:
        return self._connection.run("reap", dead_after_ms, tombstone_ms, min(limit, MAX_REAP))

    def update_stats(
        self,
        host: str,
        *,
        incarnation: int,
        sequence: int,
        base: int,
        full: bool,
        nodes: Mapping[str, Mapping[str, Any]],
    ) -> records.StatsOutcome:
        reports.check(host, incarnation, sequence, base, nodes)
        return self._states.update_stats(host, (incarnation, sequence, base, full), nodes)

    def heartbeat(self, host: str, binary: str) -> None:
        name = reports.service_name(host, binary)
        validation.check_name(name)
        self._states.heartbeat(name, binary)

    def get_state(self, namespace: str, name: str) -> tuple[int, dict[str, Any]]:
        return self._states.get(namespace, name)

    def list_state(
        self, namespace: str, marker: str | None = None, limit: int = 1000
    ) -> tuple[list[tuple[str, int, dict[str, Any]]], str | None]:
        validation.check_page(limit)
        return self._states.page(namespace, marker, limit)

    def update_state(
        self, namespace: str, name: str, version: int, changes: Mapping[str, Any]
    ) -> tuple[int, dict[str, Any]]:
        namespaces.check_changes(namespace, changes)
        self._states.update_service(name, version, changes)
        return self._states.get(namespace, name)

    def snapshot(self) -> records.Snapshot:
        return log.snapshot(self._connection)

    def follow(self, position: int, block_ms: int, limit: int = 1000) -> list[records.Entry] | None:
        return log.follow(self._connection, position, block_ms, limit)

    def check_identity(self) -> tuple[int, bool]:
        return self._connection.know_identity(), self._connection.identity.take_bumped()

    def record_decision(self, request_id: str, document: Mapping[str, Any]) -> None:
        validation.check_text("request_id", request_id)
        text = documents.encode({**document, "schema": records.SCHEMA})
        self._connection.run("decide", request_id, text, self._most_decisions)

    def find_decision(self, request_id: str) -> dict[str, Any]:
        head = prefix(self.partition)
        where = self._connection.read(lambda pipe: pipe.hget(head + "decided", request_id))[0]
        found = where and self._connection.read(lambda pipe: pipe.xrange(head + "decisions", where, where))[0]
        if not found:
            raise errors.UnknownDecision(request_id=request_id)
        _entry_id, fields = found[0]
        return documents.decode(fields["document"], "decision")

    def close(self) -> None:
        self._connection.close()

    def _end_each(self, verb: str, host: str | None, refs: Sequence[records.Ref]) -> list[records.Ended]:
        validation.check_refs(refs)
        return claims.end_each(self._connection, verb, host, refs)
