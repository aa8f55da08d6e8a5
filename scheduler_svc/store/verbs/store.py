# SPDX-License-Identifier: Apache-2.0
"""A store of verbs in Python: each checks its input, and acts on the partition alone."""

import abc
import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from scheduler_svc.store import interface, records, reports, validation, verification
from scheduler_svc.store import namespaces as rules
from scheduler_svc.store.decisions import outcome
from scheduler_svc.store.verbs import audit as auditing
from scheduler_svc.store.verbs import decisions as recorded
from scheduler_svc.store.verbs import ending, fencing, pinning, removal, states
from scheduler_svc.store.verbs import prepare as preparing
from scheduler_svc.store.verbs.partition import Partition

T = TypeVar("T")

ALL = 1 << 60


class VerbStore(interface.Store):
    """The verbs, whatever keeps the partition.

    A backend runs a step alone on the partition, at the store's time, and keeps all of it or nothing (``_act``); or
    lets it look at one instant of the partition and change nothing (``_look``).
    """

    def __init__(self, partition: str, *, decisions: int, namespaces: Collection[str]) -> None:
        self.partition = partition
        self._most_decisions = decisions
        self._declared = frozenset(namespaces)

    @abc.abstractmethod
    def _act(self, step: Callable[[Partition, int], T]) -> T:
        """Return what ``step`` returns, given the partition and the time in milliseconds; raises StoreUnavailable."""

    @abc.abstractmethod
    def _look(self, step: Callable[[Partition], T]) -> T:
        """Return what ``step`` reads; raises StoreUnavailable."""

    def prepare(self, batch: records.Batch) -> records.BatchAnswer:
        validation.check_batch(batch)

        def step(partition: Partition, now: int) -> records.BatchAnswer:
            answer = preparing.prepare(partition, batch, now)
            if batch.record is not None and answer.current:
                document = {**batch.record, **outcome(batch, answer)}
                recorded.record(partition, batch.request_id, document, self._most_decisions, now)
            return answer

        return self._act(step)

    def confirm(self, host: str, refs: Sequence[records.Ref]) -> list[records.Ended]:
        validation.check_service_host(host)
        return self._each(refs, lambda partition, ref, now: ending.confirm(partition, host, ref, now))

    def abort(self, refs: Sequence[records.Ref], host: str | None = None) -> list[records.Ended]:
        if host is not None:
            validation.check_service_host(host)
        return self._each(refs, lambda partition, ref, now: ending.abort(partition, host, ref, now))

    def release(self, host: str, refs: Sequence[records.Ref]) -> list[records.Ended]:
        validation.check_service_host(host)
        return self._each(refs, lambda partition, ref, now: ending.release(partition, host, ref, now))

    def move(self, ref: records.Ref, to: records.Ref, consumer_type: str) -> records.Ended:
        validation.check_refs([ref, to])
        validation.check_text("consumer_type", consumer_type)
        return self._act(lambda partition, now: ending.move(partition, ref, to, consumer_type, now))

    def claims(
        self, *, host: str | None = None, consumer: str | None = None, marker: str | None = None, limit: int = 1000
    ) -> tuple[list[records.Claim], str | None]:
        for name in (host, consumer):
            if name is not None:
                validation.check_name(name)
        validation.check_page(limit)
        validation.check_marker(marker)

        def step(partition: Partition, now: int) -> tuple[list[records.Claim], str | None]:
            partition.expire(now, validation.MAX_PAGE)
            return partition.page_of_claims(host, consumer, marker, limit)

        return self._act(step)

    def group_hosts(self, group_id: str) -> dict[str, int]:
        validation.check_name(group_id)
        return self._look(lambda partition: dict(partition.groups.get(group_id, {})))

    def hosts_of(self, consumers: Sequence[str]) -> dict[str, str]:
        validation.check_consumers(consumers)

        def step(partition: Partition, now: int) -> dict[str, str]:
            partition.expect(consumers=consumers)
            found = {consumer: partition.settle(consumer, now) for consumer in consumers}
            return {consumer: claim.host for consumer, claim in found.items() if claim is not None}

        return self._act(step)

    def counts(self) -> Mapping[str, int]:
        return self._look(lambda partition: partition.counts())

    def audit(self, host: str, epoch: int, running: Sequence[records.Running], grace_ms: int) -> records.AuditOutcome:
        validation.check_service_host(host)
        validation.check_running(host, running)
        validation.check_number("grace in milliseconds", grace_ms, 0, validation.MAX_TTL_MS)
        return self._act(
            lambda partition, now: auditing.audit(partition, host, epoch, running, grace_ms=grace_ms, now=now)
        )

    def fence(self, host: str) -> int:
        validation.check_service_host(host)
        return self._act(lambda partition, now: fencing.fence(partition, host, now))

    def verify(self) -> records.Verification:
        self._act(lambda partition, now: partition.expire(now, ALL))
        # One instant, and not the same: whoever looks at everything keeps nobody from his verb.
        return verification.verify(self._look(lambda partition: partition.look()))

    def reap(self, *, dead_after_ms: int | None, tombstone_ms: int, limit: int = 500) -> int:
        def step(partition: Partition, now: int) -> int:
            ended = partition.expire(now, limit)
            partition.flush(now)
            if dead_after_ms is not None:
                states.bury_silent(partition, now - dead_after_ms)
            partition.forget_ends(now - tombstone_ms, limit)
            partition.forget_pins(now)
            return ended

        return self._act(step)

    def settle_alive(self, living: Collection[str]) -> int:
        return self._act(lambda partition, _now: states.settle_alive(partition, living))

    def pin(self, key: str, partition: str, ttl_ms: int, instead_of: str | None = None) -> str:
        validation.check_text("key", key)
        validation.check_number("lifetime in milliseconds", ttl_ms, 1, validation.MAX_TTL_MS)
        return self._act(lambda held, now: pinning.pin(held, key, partition, instead_of, now=now, ttl_ms=ttl_ms))

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
        report = (incarnation, sequence, base, full)
        return self._act(lambda partition, now: states.update_stats(partition, host, report, nodes, now))

    def heartbeat(self, host: str, binary: str) -> None:
        name = reports.service_name(host, binary)
        validation.check_name(name)
        self._act(lambda partition, now: states.beat(partition, name, binary, now))

    def get_state(self, namespace: str, name: str) -> tuple[int, dict[str, Any]]:
        rules.check(namespace, self._declared)
        validation.check_name(name)
        return self._look(lambda partition: copy.deepcopy(states.get_state(partition, namespace, name)))

    def list_state(
        self, namespace: str, marker: str | None = None, limit: int = 1000
    ) -> tuple[list[tuple[str, int, dict[str, Any]]], str | None]:
        rules.check(namespace, self._declared)
        validation.check_page(limit)
        validation.check_marker(marker)
        return self._look(lambda partition: copy.deepcopy(states.list_state(partition, namespace, marker, limit)))

    def put_state(self, namespace: str, name: str, version: int, document: Mapping[str, Any]) -> int:
        validation.check_name(name)
        rules.check(namespace, self._declared)
        rules.check_document(namespace, document)
        wanted = copy.deepcopy(document)
        return self._act(lambda partition, _now: states.put_state(partition, namespace, name, version, wanted))

    def delete_state(self, namespace: str, name: str, version: int) -> None:
        rules.check(namespace, self._declared)
        rules.check_deletable(namespace)
        validation.check_name(name)
        self._act(lambda partition, _now: states.delete_state(partition, namespace, name, version))

    def remove(self, host: str) -> None:
        validation.check_service_host(host)
        self._act(lambda partition, now: removal.remove(partition, self.partition, host, now))

    def snapshot(self, namespaces: Collection[str] = ()) -> records.Snapshot:
        return self._look(lambda partition: partition.snapshot(namespaces))

    def record_decision(self, request_id: str, document: Mapping[str, Any]) -> None:
        validation.check_text("request_id", request_id)
        self._act(lambda partition, now: recorded.record(partition, request_id, document, self._most_decisions, now))

    def find_decision(self, request_id: str) -> dict[str, Any]:
        validation.check_text("request_id", request_id)
        return self._look(lambda partition: recorded.find(partition, request_id))

    def list_decisions(
        self, marker: str | None = None, limit: int = 100
    ) -> tuple[list[tuple[str, dict[str, Any]]], str | None]:
        validation.check_page(limit)
        return self._look(lambda partition: recorded.page(partition, marker, limit))

    def _each(
        self, refs: Sequence[records.Ref], one: Callable[[Partition, records.Ref, int], records.Ended]
    ) -> list[records.Ended]:
        validation.check_refs(refs)

        def step(partition: Partition, now: int) -> list[records.Ended]:
            partition.expect(consumers={ref.consumer for ref in refs})
            return [one(partition, ref, now) for ref in refs]

        return self._act(step)
