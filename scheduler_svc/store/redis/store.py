# SPDX-License-Identifier: Apache-2.0
"""Redis store: runs each verb as a script, or in Python with one script that commits its changes."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Concatenate, Unpack

from rpcapi.bounds import CollectionSize
from rpcapi.conf import redis_url
from scheduler_svc.core.records import BatchOutcomes, ClaimBatch, LogEntry, Snapshot
from scheduler_svc.store import verification
from scheduler_svc.store.interface import Store
from scheduler_svc.store.protocols.runner import P, T
from scheduler_svc.store.records import COLLECT_MS, ReapResult, StoreOptions, Verification
from scheduler_svc.store.redis import claims, clock, log, prepare, sizes, snapshot
from scheduler_svc.store.redis.connect import RedisConnection
from scheduler_svc.store.redis.partition import RedisPartition, run
from scheduler_svc.store.redis.verbs import SCRIPTED

MAX_REAP = 1000


class RedisStore(Store):
    """Store of one partition in Redis. Threads may share it, but not processes."""

    def __init__(self, url: str, partition: str, **options: Unpack[StoreOptions]) -> None:
        super().__init__(partition, **options)
        if redis_url.has_multiple_servers(url):
            # After a failover, the new primary may lack the last writes, whatever the durability of the old one.
            self.options["durability"] = "everysec"
        self._connection = RedisConnection(url, partition, self.repeats, self.options)

    def _run(self, verb: Callable[Concatenate[Any, int, P], T], /, *arguments: P.args, **options: P.kwargs) -> T:
        if verb not in SCRIPTED:
            return run(self._connection, verb, *arguments, **options)
        answer: T = SCRIPTED[verb](self._connection, *arguments, **options)
        return answer

    def _read(self, verb: Callable[Concatenate[Any, P], T], /, *arguments: P.args, **options: P.kwargs) -> T:
        if verb not in SCRIPTED:
            return verb(RedisPartition(self._connection), *arguments, **options)
        answer: T = SCRIPTED[verb](self._connection, *arguments, **options)
        return answer

    def _prepare_all(self, batches: Sequence[ClaimBatch], log_after: int | None) -> BatchOutcomes:
        if len(batches) == 1 and log_after is None:
            return super()._prepare_all(batches, None)
        return prepare.prepare_all(self._connection, batches, self.options["decision_bytes"], log_after, self._outcome)

    def _snapshot(self, namespaces: Collection[str]) -> Snapshot:
        return snapshot.snapshot(self._connection, namespaces)

    def _follow(self, position: int, block_ms: int, limit: int) -> list[LogEntry] | None:
        return log.follow(self._connection, position, block_ms, limit)

    def counts(self) -> Mapping[str, int]:
        live, prepared = self._connection.read(("HLEN", "claims"), ("ZCARD", "deadlines"))
        return {"prepared": prepared, "confirmed": live - prepared}  # Only prepared claims have deadlines.

    def clock_lead(self) -> int:
        return clock.lead(*self._connection.read(("HMGET", "meta", *clock.FIELDS))[0])

    def clock_ms(self) -> int:
        return int(self._connection.run("clock"))

    def verify(self) -> Verification:
        return verification.verify(claims.dump(self._connection))

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
        self._connection.read(("XTRIM", "log", "MAXLEN", length))

    def has_pin(self, key: str) -> bool:
        return bool(self._connection.read(("HEXISTS", "pins", key))[0])

    def check_identity(self) -> tuple[int, bool]:
        return self._connection.check_identity(), self._connection.identity.take_epoch_change()

    def close(self) -> None:
        super().close()
        self._connection.close()
