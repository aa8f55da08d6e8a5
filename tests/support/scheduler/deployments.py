# SPDX-License-Identifier: Apache-2.0
"""Several partitions on memory stores that can become unavailable, and workers over them."""

from collections.abc import Callable, Mapping
from typing import Any

from rpcapi import errors
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.replication.partitions import OpenPartition, OpenPartitions
from scheduler_svc.replication.replica import Replica
from scheduler_svc.scheduling.partition_router import PartitionRouter
from scheduler_svc.scheduling.partition_scheduler import PartitionScheduler, SchedulingLimits
from scheduler_svc.store.memory import MemoryStore
from tests.support.scheduler import hosts

TTL_MS = 10_000
TWO_CELLS = {
    "a": {"a1": hosts.node(), "m/1": hosts.node(), "z": hosts.node()},
    "b": {"b1": hosts.node(), "b2": hosts.node(), "n/1": hosts.node()},
}
LONG_STEP_MS = 1 << 50  # tests advance the clock by any time in one step
_VERBS = (
    *(
        "prepare",
        "abort",
        "find",
        "group_hosts",
        "hosts_of",
        "pin",
        "group_home",
        "leave_group",
        "snapshot",
        "follow",
        "check_identity",
        "counts",
    ),
    *("remove", "update_stats", "get_state", "list_state", "put_state", "delete_state", "verify"),
)


class FragileStore(MemoryStore):
    """A store that can be unavailable, or lose the answer of a verb."""

    def __init__(self, partition: str, clock: Callable[[], int]) -> None:
        super().__init__(partition, clock=clock, namespaces=["aggregate"], max_step_ms=LONG_STEP_MS)
        self.away = False
        self.lost_answer: str | None = None  # the verb whose next answer gets lost
        for verb in _VERBS:
            setattr(self, verb, self._fragile(verb, getattr(self, verb)))

    def _fragile(self, verb: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def fragile(*args: Any, **values: Any) -> Any:
            if self.away:
                raise errors.StoreUnavailable(why=f"{self.partition} is unavailable")
            answer = method(*args, **values)
            if self.lost_answer == verb:
                self.lost_answer = None
                raise errors.StoreUnavailable(why=f"the answer of {self.partition} to {verb} was lost")
            return answer

        return fragile


class SteppedReplica(Replica):
    """A replica without its thread: it applies the log on demand."""

    def catch_up(self) -> None:
        """Do one step of the thread: load or follow, and record an outage."""
        try:
            if self.ready and not self.presence.away:
                self.step(0)
            else:
                self.load()
        except errors.StoreUnavailable:
            self.presence.record_failure()

    def reach(self, position: int, timeout: float) -> bool:
        while self.log_position.position < position:
            self.step(0)
        return True


class DeploymentWorker:
    """One scheduler worker over all partitions, with its own table."""

    def __init__(
        self, stores: Mapping[str, MemoryStore], clock: Callable[[], int], ttl_ms: int = TTL_MS, **limits_: Any
    ) -> None:
        self.table = HostTable(list(stores))
        self.partitions = OpenPartitions(
            [OpenPartition(store, SteppedReplica(store, table=self.table)) for store in stores.values()],
            next(iter(stores)),
        )
        for partition in self.partitions:
            partition.presence._clock = lambda: clock() / 1000
        self.follow()
        limits = SchedulingLimits(ttl_ms=ttl_ms, **limits_)

        def make(partition: OpenPartition) -> PartitionScheduler:
            return PartitionScheduler(partition.store, partition.replica, limits)

        self.scheduler = PartitionRouter(self.partitions, make, ttl_ms / 1000)

    def follow(self) -> None:
        """Apply all logs."""
        for partition in self.partitions:
            partition.replica.catch_up()  # type: ignore[attr-defined]  # a replica without a thread


class PartitionedDeployment:
    """Stores by name, a clock in milliseconds, and workers that see the same outages."""

    def __init__(self, workers: int = 1, **nodes: Mapping[str, Any]) -> None:
        self.now = 1_000_000
        self.stores = {name: FragileStore(name, lambda: self.now) for name in nodes}
        for name, provider_documents in nodes.items():
            hosts.join(self.stores[name], provider_documents)
        self.workers = [DeploymentWorker(self.stores, lambda: self.now) for _ in range(workers)]

    @property
    def worker(self) -> DeploymentWorker:
        return self.workers[0]

    def take_away(self, name: str, away: bool = True) -> None:
        """Make a store unavailable or available again, and let every worker notice it."""
        self.stores[name].away = away
        for worker in self.workers:
            worker.follow()

    def wait(self, milliseconds: int) -> None:
        """Advance the clock."""
        self.now += milliseconds

    def live(self) -> dict[str, list[str]]:
        """Return the partitions in which each consumer has live claims."""
        partitions_by_consumer: dict[str, list[str]] = {}
        for name, store in self.stores.items():
            for claim in store.claims()[0]:
                partitions_by_consumer.setdefault(claim.consumer, []).append(name)
        return partitions_by_consumer
