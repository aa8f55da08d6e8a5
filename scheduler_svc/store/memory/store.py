# SPDX-License-Identifier: Apache-2.0
"""The in-memory backend: every verb under one lock."""

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Condition
from typing import Any

from rpcapi import errors
from rpcapi.model import names
from scheduler_svc.store import interface, namespaces, records, reports, validation, verification
from scheduler_svc.store.decisions import outcome
from scheduler_svc.store.log import without_gap
from scheduler_svc.store.memory import audit as auditing
from scheduler_svc.store.memory import ending, fencing, states
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
    ) -> None:
        self.partition = partition
        self.state = Partition(log_length)
        self._clock = clock
        self._most_decisions = decisions
        self._changed = Condition()
        self.state.bump(clock())

    def prepare(self, batch: records.Batch) -> records.BatchAnswer:
        validation.check_batch(batch)
        with self._changed:
            answer = preparing.prepare(self.state, batch, self._clock())
            if batch.record is not None and answer.current:
                self._record(batch.request_id, {**batch.record, **outcome(batch, answer)})
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

    def reap(self, *, dead_after_ms: int, tombstone_ms: int, limit: int = 500) -> int:
        with self._changed:
            now, state = self._clock(), self.state
            ended = state.expire(now, limit)
            state.flush(now)
            dead = [name for name, at in state.beats.items() if at <= now - dead_after_ms and state.alive.get(name)]
            if dead:
                state.alive.update(dict.fromkeys(dead, False))
                state.append("alive", dict.fromkeys(sorted(dead), False))
            old = sorted((at, name) for name, at in state.ended_at.items() if at <= now - tombstone_ms)
            for _at, name in old[:limit]:
                del state.ended[name], state.ended_at[name]
                state.settled.pop(name, None)
            self._finish(now)
            return ended

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
        with self._changed:
            return copy.deepcopy(states.get_state(self.state, namespace, name))

    def list_state(
        self, namespace: str, marker: str | None = None, limit: int = 1000
    ) -> tuple[list[tuple[str, int, dict[str, Any]]], str | None]:
        validation.check_page(limit)
        with self._changed:
            wanted = [name for name in states.names_of(self.state, namespace) if marker is None or name > marker]
            found = [(name, *self.get_state(namespace, name)) for name in wanted[:limit]]
        return found, wanted[limit - 1] if len(wanted) > limit else None

    def update_state(
        self, namespace: str, name: str, version: int, changes: Mapping[str, Any]
    ) -> tuple[int, dict[str, Any]]:
        namespaces.check_changes(namespace, changes)
        with self._changed:
            states.update_service(self.state, name, version, changes)
            self._finish(self._clock())
            return self.get_state(namespace, name)

    def snapshot(self) -> records.Snapshot:
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
            self._record(request_id, dict(document))

    def find_decision(self, request_id: str) -> dict[str, Any]:
        with self._changed:
            if request_id not in self.state.decisions:
                raise errors.UnknownDecision(request_id=request_id)
            return copy.deepcopy(self.state.decisions[request_id])

    def close(self) -> None:
        """Nothing is held."""

    def _record(self, request_id: str, document: dict[str, Any]) -> None:
        decisions = self.state.decisions
        decisions.pop(request_id, None)
        decisions[request_id] = {"schema": records.SCHEMA, "at_ms": self._clock(), **copy.deepcopy(document)}
        while len(decisions) > self._most_decisions:
            decisions.popitem(last=False)

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
