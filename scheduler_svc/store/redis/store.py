# SPDX-License-Identifier: Apache-2.0
"""The Redis backend: each verb runs one script, or a few, and decodes its answer."""

from collections.abc import Collection, Mapping, Sequence
from itertools import compress
from typing import Any

from rpcapi import errors
from rpcapi.bounds import CollectionSize
from rpcapi.conf import redis_nodes
from rpcapi.conf.replicas import ReplicaAcknowledgement
from scheduler_svc.core.records import BatchAnswer, BatchOutcomes, ClaimBatch
from scheduler_svc.store import validation
from scheduler_svc.store.records import (
    COLLECT_MS,
    DECISION_BYTES,
    MAX_STEP_MS,
    Durability,
    GroupHome,
    GroupMembership,
    Liveness,
    ReapResult,
)
from scheduler_svc.store.redis import log, prepare, sizes
from scheduler_svc.store.redis.allocations import RedisAllocations
from scheduler_svc.store.redis.audit import RedisAudits
from scheduler_svc.store.redis.claims import RedisClaims
from scheduler_svc.store.redis.connect import RedisConnection, place
from scheduler_svc.store.redis.decisions import RedisDecisions
from scheduler_svc.store.redis.identity import RedisIdentity
from scheduler_svc.store.redis.importing import RedisImports
from scheduler_svc.store.redis.keys import prefix
from scheduler_svc.store.redis.reshaping import RedisReshaping
from scheduler_svc.store.redis.snapshot import RedisSnapshots
from scheduler_svc.store.redis.states import RedisHostStates

MAX_REAP = 1000


class RedisStore(
    RedisClaims,
    RedisAudits,
    RedisHostStates,
    RedisImports,
    RedisAllocations,
    RedisReshaping,
    RedisSnapshots,
    RedisDecisions,
):
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
        super().__init__(partition, decision_bytes=decision_bytes, namespaces=namespaces)
        # A server's durability guarantees nothing where another server may take over.
        effective = "everysec" if redis_nodes.has_multiple_servers(url) else durability
        identity = RedisIdentity(partition, effective, log_length)
        self._connection = RedisConnection(
            url,
            partition,
            identity,
            log_length,
            replicas,
            repeats=self.repeats,
            max_step_ms=max_step_ms,
            wait_seconds=wait_seconds,
        )
        self._beats_decide = int(liveness == "beats")
        self._head = prefix(partition)

    def _prepare(self, batch: ClaimBatch) -> BatchAnswer | None:
        rows, arguments = self._prepare_arguments(batch)
        raw = self._connection.run("prepare", rows, **arguments)
        return self._prepare_answer(batch, raw) if raw else None

    def _prepare_all(self, batches: Sequence[ClaimBatch], log_after: int | None) -> BatchOutcomes:
        if len(batches) == 1 and log_after is None:
            return super()._prepare_all(batches, None)
        valid = [validation.is_valid_batch(batch) for batch in batches]
        calls = [*map(self._prepare_arguments, compress(batches, valid))]
        read = [] if log_after is None else [log.read_command(self.partition, log_after)]
        raws = iter(self._connection.run_each("prepare", calls, read))
        outcomes: list[BatchAnswer | errors.GanttError] = []
        for batch, is_valid in zip(batches, valid, strict=True):
            raw = next(raws) if is_valid else None
            # What was refused, failed, or only ended claims past their deadline, is answered on its own.
            if isinstance(raw, list) and raw:
                outcomes.append(self._prepare_answer(batch, raw))
            else:
                outcomes.append(self._outcome(batch))
        return BatchOutcomes(outcomes, None if log_after is None else log.carried(log_after, next(raws), outcomes))

    def _prepare_arguments(self, batch: ClaimBatch) -> tuple[list[Any], dict[str, Any]]:
        return list(prepare.rows(batch)), {**prepare.arguments(batch), "decision_bytes": self._decision_bytes}

    def _prepare_answer(self, batch: ClaimBatch, raw: list[Any]) -> BatchAnswer:
        answer = prepare.answer(batch, raw)
        self._connection.identity.observe(answer.epoch, answer.position)
        return answer

    def clock_ms(self) -> int:
        return int(self._connection.run("clock"))

    def _name_hosts(self, epoch: int, hosts: Sequence[str], complete: bool) -> bool:
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

    def _sizes(self) -> Mapping[str, CollectionSize]:
        return sizes.sizes(self._connection, self._declared)

    def trim_log(self, length: int) -> None:
        self._connection.read(lambda pipe: pipe.xtrim(self._head + "log", maxlen=length, approximate=False))

    def _pin(self, key: str, partition: str, ttl_ms: int, instead_of: str | None) -> str:
        return self._connection.run("pin", key=key, partition=partition, ttl_ms=ttl_ms, replaceable=instead_of or "")

    def has_pin(self, key: str) -> bool:
        return bool(self._connection.read(lambda pipe: pipe.hexists(self._head + "pins", key))[0])

    def _group_home(self, group_id: str, partition: str, ttl_ms: int, instead_of: str) -> GroupHome:
        return GroupHome(
            *self._connection.run(
                "group_home", group=group_id, partition=partition, ttl_ms=ttl_ms, replaceable=instead_of
            )
        )

    def _leave_group(self, group_id: str, generation: str, ttl_ms: int, only_if_certain: bool) -> GroupMembership:
        members, may_have_forgotten = self._connection.run(
            "leave_group",
            group=group_id,
            generation=generation,
            ttl_ms=ttl_ms,
            only_if_certain=int(only_if_certain),
        )
        return GroupMembership(members, bool(may_have_forgotten))

    def check_identity(self) -> tuple[int, bool]:
        return self._connection.check_identity(), self._connection.identity.take_epoch_change()

    def begin_epoch_if_behind(self, epoch: int, position: int) -> tuple[int, int]:
        recorded = self._place()
        if recorded >= (epoch, position):
            return recorded
        self._connection.identity.observe(epoch, position)
        self._connection.check_identity()
        return self._place()

    def _place(self) -> tuple[int, int]:
        return place(self._connection.read(lambda pipe: pipe.hmget(self._head + "meta", "epoch", "position"))[0])

    def close(self) -> None:
        super().close()
        self._connection.close()
