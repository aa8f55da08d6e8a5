# SPDX-License-Identifier: Apache-2.0
"""Partition schedulers on a memory store with hosts, and stores that refuse or fail."""

from collections.abc import Mapping, Sequence
from typing import Any

from rpcapi import context, errors
from rpcapi.context import RequestContext
from rpcapi.resources.claims import Answer, Verdict
from scheduler_svc.core.records import BatchAnswer, BatchOutcomes, Claim, ClaimBatch, IntentResult
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.scheduling.calls import SelectionCall, ServedCall
from scheduler_svc.scheduling.interfaces import DecisionStore
from scheduler_svc.scheduling.partition_scheduler import PartitionScheduler, SchedulingLimits
from scheduler_svc.scheduling.ranking import SchedulingPolicy
from scheduler_svc.store.memory import MemoryStore
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node, request
from tests.support.scheduler.replica_views import FILTER_POLICY, FollowingReplicaView

FOUR_HOSTS = {f"h{number}/n": node() for number in range(4)}  # capacity for 4 instances each


class HostPartition:
    """A memory store with hosts, and schedulers with separate tables."""

    def __init__(self, nodes: Mapping[str, Mapping[str, Any]] = FOUR_HOSTS, namespaces: Sequence[str] = ()) -> None:
        self.store = MemoryStore("p", namespaces=namespaces)
        hosts.join(self.store, nodes)

    def scheduler(
        self, store: DecisionStore | None = None, **limits: Any
    ) -> tuple[PartitionScheduler, FollowingReplicaView]:
        replica = FollowingReplicaView(self.store)
        return PartitionScheduler(store or self.store, replica, SchedulingLimits(**limits)), replica

    def live(self) -> list[Claim]:
        return self.store.claims()[0]


def selection_call(
    count: int = 1,
    first: int = 0,
    scheduling_request: SchedulingRequest | None = None,
    ctxt: RequestContext | None = None,
    **fields: Any,
) -> SelectionCall:
    return SelectionCall(
        ctxt or context.new("p", "u"),
        scheduling_request or request(),
        [f"vm-{number}" for number in range(first, first + count)],
        **{"fresh": True, **fields},
    )


def select(scheduler: PartitionScheduler, call: SelectionCall, policy: SchedulingPolicy = FILTER_POLICY) -> ServedCall:
    return scheduler.select(policy, call)


class FakeStore:
    """A store in which subclasses replace some verbs; ``super()`` has the store's."""

    def __init__(self, store: DecisionStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def prepare_all(self, batches: Sequence[ClaimBatch], log_after: int | None = None) -> BatchOutcomes:
        return self._store.prepare_all(batches, log_after)


class RefusingStore:
    """A store that refuses every batch."""

    def __init__(self, verdict: Verdict = Verdict.CONCURRENT, current: bool = True) -> None:
        self.verdict = verdict
        self.current = current
        self.batches: list[ClaimBatch] = []

    def prepare_all(self, batches: Sequence[ClaimBatch], log_after: int | None = None) -> BatchOutcomes:
        return BatchOutcomes([self.prepare(batch) for batch in batches])

    def prepare(self, batch: ClaimBatch) -> BatchAnswer:
        self.batches.append(batch)
        prepared = [
            IntentResult(
                intent.consumer,
                intent.attempt,
                Answer.REFUSED,
                verdicts=[self.verdict] * len(intent.candidates) * self.current,
            )
            for intent in batch.intents
        ]
        return BatchAnswer(False, self.current, batch.epoch, batch.position, prepared)


class AnswerLosingStore(FakeStore):
    """A store that claims, and becomes unavailable before it answers."""

    def prepare_all(self, batches: Sequence[ClaimBatch], log_after: int | None = None) -> BatchOutcomes:
        super().prepare_all(batches, log_after)
        raise errors.StoreUnavailable(why="the answer was lost")


def allocations_by_consumer(partition: HostPartition) -> dict[str, dict[str, dict[str, int]]]:
    return {
        claim.consumer: {name: dict(amounts) for name, amounts in claim.allocations.items()}
        for claim in partition.live()
    }
