# SPDX-License-Identifier: Apache-2.0
"""The in-memory backend: every verb under one lock."""

import copy
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from threading import Condition
from typing import Any

from rpcapi.model import names
from scheduler_svc.store import interface, records, reports, validation, verification
from scheduler_svc.store import namespaces as rules
from scheduler_svc.store.decisions import outcome
from scheduler_svc.store.log import without_gap
from scheduler_svc.store.memory import audit as auditing
from scheduler_svc.store.memory import decisions as recorded
from scheduler_svc.store.memory import ending, fencing, pinning, removal, states
from scheduler_svc.store.memory import prepare as preparing
from scheduler_svc.store.memory.partition import Partition

ALL = 1 << 60


def wall_clock() -> int:
    """Return milliseconds since the Unix epoch."""
    return time.time_ns() // 1_000_000


class MemoryStore(interface.Store):
    """A store that lives and dies with its process; ``clock`` returns milliseconds."""

    def __init__(
        self,
        partition: str,
        *,
        clock: Callable[[], int] = wall_clock,
        log_length: int = 100_000,
        decisions: int = 10_000,
        liveness: records.Liveness = "beats",
        namespaces: Collection[str] = (),
    ) -> None:
        self.partition = partition
        self.state = Partition(log_length, by_group=liveness == "group")
        self._declared = frozenset(namespaces)
        self._clock = clock
        self._most_decisions = decisions
        self._changed = Condition()
        self.state.bump(clock())

    def prepare(self, batch: records.Batch) -> records.BatchAnswer:
        validation.check_batch(batch)
        with self._changed:
            now = self._clock()
            answer = preparing.prepare(self.state, batch, now)
            if batch.record is not None and answer.current:
                document = {**batch.record, **outcome(batch, answer)}
                recorded.record(self.state, batch.request_id, document, self._most_decisions, now)
            self._changed.notify_all()
            return answer

    def confirm(self, host: str, refs: Sequence[records.Ref]) -> list[records.Ended]:
        validation.check_service_host(host)
        return self._each(refs, lambda ref, now: ending.confirm(self.state, host, ref, now))

    def abort(self, refs: Sequence[records.Ref], host: str | None = None) -> list[records.Ended]:
        if host is not None:
            validation.check_service_host(host)
        return self._each(refs, lambda ref, now: ending.abort(self.state, host, ref, now))

    def release(self, host: str, refs: Sequence[records.Ref]) -> list[records.Ended]:
        validation.check_service_host(host)
        return self._each(refs, lambda ref, now: ending.release(self.state, host, ref, now))

    def move(self, ref: records.Ref, to: records.Ref, consumer_type: str) -> records.Ended:
        validation.check_refs([ref, to])
        validation.check_text("consumer_type", consumer_type)
        with self._changed:
            now = self._clock()
            answer = ending.move(self.state, ref, to, consumer_type, now)
            self._finish(now)
            return answer

    def claims(
        self, *, host: str | None = None, consumer: str | None = None, marker: str | None = None, limit: int = 1000
    ) -> tuple[list[records.Claim], str | None]:
        for name in (host, consumer):
            if name is not None:
                validation.check_name(name)
        validation.check_page(limit)
        with self._changed:
            now = self._clock()
            self.state.expire(now, validation.MAX_PAGE)
            self._finish(now)
            found = sorted(
                (f"{claim.host}|{claim.consumer}", claim)
                for claim in self.state.claims.values()
                if consumer in (None, claim.consumer) and (host is None or names.matches(claim.host, host))
            )
        page = [(key, claim) for key, claim in found if marker is None or key > marker]
        return [claim for _key, claim in page[:limit]], page[limit - 1][0] if len(page) > limit else None

    def group_hosts(self, group_id: str) -> dict[str, int]:
        validation.check_name(group_id)
        with self._changed:
            return dict(self.state.groups.get(group_id, {}))

    def counts(self) -> Mapping[str, int]:
        with self._changed:
            prepared = len(self.state.deadlines)
            return {"prepared": prepared, "confirmed": len(self.state.claims) - prepared}

    def audit(self, host: str, epoch: int, running: Sequence[records.Running], grace_ms: int) -> records.AuditOutcome:
        validation.check_service_host(host)
        validation.check_running(host, running)
        validation.check_number("grace in milliseconds", grace_ms, 0, validation.MAX_TTL_MS)
        with self._changed:
            now = self._clock()
            outcome = auditing.audit(self.state, host, epoch, running, grace_ms=grace_ms, now=now)
            self._finish(now)
            return outcome

    def fence(self, host: str) -> int:
        validation.check_service_host(host)
        with self._changed:
            now = self._clock()
            ended = fencing.fence(self.state, host, now)
            self._finish(now)
            return ended

    def verify(self) -> records.Verification:
        with self._changed:
            now, state = self._clock(), self.state
            state.expire(now, ALL)
            self._finish(now)
            look = verification.Look(
                epoch=state.epoch,
                position=state.position,
                claims=list(state.claims.values()),
                capacity=state.capacity,
                used=state.used,
                groups=state.groups,
                deadlines=state.deadlines,
                by_host={(claim.host, claim.consumer) for claim in state.claims.values()},
                opened=state.opened,
                awaited=state.awaited,
                excess=state.excess,
            )
            return verification.verify(look)

    def reap(self, *, dead_after_ms: int | None, tombstone_ms: int, limit: int = 500) -> int:
        with self._changed:
            now, state = self._clock(), self.state
            ended = state.expire(now, limit)
            state.flush(now)
            if dead_after_ms is not None:
                states.bury_silent(state, now - dead_after_ms)
            old = sorted((at, name) for name, at in state.ended_at.items() if at <= now - tombstone_ms)
            for _at, name in old[:limit]:
                del state.ended[name], state.ended_at[name]
                state.settled.pop(name, None)
            pinning.tidy(state, now)
            self._finish(now)
            return ended

    def settle_alive(self, living: Collection[str]) -> int:
        with self._changed:
            news = states.settle_alive(self.state, living)
            self._finish(self._clock())
            return news

    def pin(self, key: str, partition: str, ttl_ms: int, instead_of: str | None = None) -> str:
        validation.check_text("key", key)
        validation.check_number("lifetime in milliseconds", ttl_ms, 1, validation.MAX_TTL_MS)
        with self._changed:
            return pinning.pin(self.state, key, partition, instead_of, now=self._clock(), ttl_ms=ttl_ms)

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
        with self._changed:
            now = self._clock()
            report = (incarnation, sequence, base, full)
            outcome = states.update_stats(self.state, host, report, nodes, now)
            self._finish(now)
            return outcome

    def heartbeat(self, host: str, binary: str) -> None:
        name = reports.service_name(host, binary)
        validation.check_name(name)
        with self._changed:
            now = self._clock()
            states.beat(self.state, name, binary, now)
            self._finish(now)

    def get_state(self, namespace: str, name: str) -> tuple[int, dict[str, Any]]:
        rules.check(namespace, self._declared)
        with self._changed:
            return copy.deepcopy(states.get_state(self.state, namespace, name))

    def list_state(
        self, namespace: str, marker: str | None = None, limit: int = 1000
    ) -> tuple[list[tuple[str, int, dict[str, Any]]], str | None]:
        rules.check(namespace, self._declared)
        validation.check_page(limit)
        with self._changed:
            return copy.deepcopy(states.list_state(self.state, namespace, marker, limit))

    def put_state(self, namespace: str, name: str, version: int, document: Mapping[str, Any]) -> int:
        validation.check_name(name)
        rules.check(namespace, self._declared)
        rules.check_document(namespace, document)
        with self._changed:
            put = states.put_state(self.state, namespace, name, version, copy.deepcopy(document))
            self._finish(self._clock())
            return put

    def delete_state(self, namespace: str, name: str, version: int) -> None:
        rules.check(namespace, self._declared)
        rules.check_deletable(namespace)
        with self._changed:
            states.delete_state(self.state, namespace, name, version)
            self._finish(self._clock())

    def remove(self, host: str) -> None:
        validation.check_service_host(host)
        with self._changed:
            now = self._clock()
            try:
                removal.remove(self.state, self.partition, host, now)
            finally:
                self._finish(now)

    def snapshot(self, namespaces: Collection[str] = ()) -> records.Snapshot:
        with self._changed:
            state = self.state
            return records.Snapshot(
                epoch=state.epoch,
                position=state.position,
                providers=copy.deepcopy(state.providers),
                used=copy.deepcopy(state.used),
                services=copy.deepcopy(state.services),
                alive=dict(state.alive),
                opened=dict(state.opened),
                states={name: states.documents(state, name) for name in sorted(namespaces)},
            )

    def follow(self, position: int, block_ms: int, limit: int = 1000) -> list[records.Entry] | None:
        deadline = time.monotonic() + block_ms / 1000
        with self._changed:
            while self.state.position == position and time.monotonic() < deadline:
                self._changed.wait(deadline - time.monotonic())
            if position > self.state.position:
                return None
            found = [entry for entry in self.state.log if entry.position > position][:limit]
            return without_gap(position, found, self.state.position)

    def check_identity(self) -> tuple[int, bool]:
        return self.state.epoch, False

    def bump(self) -> int:
        """Begin a new epoch, as a store that may have forgotten something does; return it."""
        with self._changed:
            self.state.bump(self._clock())
            self._changed.notify_all()
            return self.state.epoch

    def record_decision(self, request_id: str, document: Mapping[str, Any]) -> None:
        validation.check_text("request_id", request_id)
        with self._changed:
            recorded.record(self.state, request_id, document, self._most_decisions, self._clock())

    def find_decision(self, request_id: str) -> dict[str, Any]:
        with self._changed:
            return recorded.find(self.state, request_id)

    def list_decisions(
        self, marker: str | None = None, limit: int = 100
    ) -> tuple[list[tuple[str, dict[str, Any]]], str | None]:
        validation.check_page(limit)
        with self._changed:
            return recorded.page(self.state, marker, limit)

    def close(self) -> None:
        """Nothing is held."""

    def _each(
        self, refs: Sequence[records.Ref], step: Callable[[records.Ref, int], records.Ended]
    ) -> list[records.Ended]:
        validation.check_refs(refs)
        with self._changed:
            now = self._clock()
            answers = [step(ref, now) for ref in refs]
            self._finish(now)
            return answers

    def _finish(self, now: int) -> None:
        self.state.flush(now)
        self._changed.notify_all()
