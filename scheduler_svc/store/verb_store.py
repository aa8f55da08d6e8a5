# SPDX-License-Identifier: Apache-2.0
"""Base of stores whose verbs run in Python."""

from collections.abc import Collection, Mapping

from rpcapi.bounds import CollectionSize
from scheduler_svc.core.records import Snapshot
from scheduler_svc.store import verification
from scheduler_svc.store.interface import Store
from scheduler_svc.store.records import COLLECT_MS, ReapResult, Verification
from scheduler_svc.store.verbs import collecting, copies, states
from scheduler_svc.store.verbs.contents import ALL
from scheduler_svc.store.verbs.whole_partition import WholePartition


class VerbStore(Store):
    """Base of backends that run each verb in one exclusive transaction or one consistent read of the partition."""

    def counts(self) -> Mapping[str, int]:
        return self._read(lambda partition: partition.counts())

    def clock_lead(self) -> int:
        return int(self._read(lambda partition: partition.lead_ms))

    def clock_ms(self) -> int:
        return int(self._run(lambda partition, now: now + partition.lead_ms))

    def verify(self) -> Verification:
        self._run(lambda partition, now: partition.expire(now, ALL))
        # Dump the partition in a separate read, which does not block verbs.
        return verification.verify(self._read(copies.dump))

    def reap(
        self, *, dead_after_ms: int | None, tombstone_ms: int, collect_ms: int = COLLECT_MS, limit: int = 500
    ) -> ReapResult:
        def step(partition: WholePartition, now: int) -> ReapResult:
            ended, due = partition.expire(now, limit)
            partition.flush(now)
            if dead_after_ms is not None:
                states.mark_silent_down(partition, now - dead_after_ms)
            collecting.expire(partition, now - collect_ms)
            old = partition.old_tombstones(now - tombstone_ms, limit)
            for consumer in old:
                del partition.ended[consumer], partition.ended_at[consumer]
            pins = partition.expired_pins(now, limit)
            for key in pins:
                del partition.pins[key]
            return ReapResult(ended, max(due, len(old), len(pins)) >= limit, partition.prepared_ms())

        return self._run(step)

    def _sizes(self) -> Mapping[str, CollectionSize]:
        return self._read(lambda partition: partition.sizes())

    def trim_log(self, length: int) -> None:
        self._run(lambda partition, _now: partition.trim_log(length))

    def has_pin(self, key: str) -> bool:
        return self._read(lambda partition: key in partition.pins)

    def _snapshot(self, namespaces: Collection[str]) -> Snapshot:
        return self._read(copies.snapshot, namespaces)
