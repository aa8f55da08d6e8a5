# SPDX-License-Identifier: Apache-2.0
"""The replica view of schedulers in tests: a table that follows its store only on demand."""

from collections.abc import Collection, Sequence

from scheduler_svc.core.built_in import DEFAULT_FILTERS
from scheduler_svc.core.drivers.filter import FilterDriver
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.reads import NO_READS, Reads
from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.partition import LogPosition
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.core.weighers import scoring
from scheduler_svc.replication.replica import Replica
from scheduler_svc.scheduling.ranking import SchedulingPolicy
from scheduler_svc.store.interface import Store

SOFT_GROUP_WEIGHERS = ("ServerGroupSoftAffinityWeigher", "ServerGroupSoftAntiAffinityWeigher")


class FollowingReplicaView:
    """A replica without its thread: ``reach`` applies the log in the caller's thread."""

    def __init__(self, store: Store, reads: Reads = NO_READS) -> None:
        self.replica = Replica(store, table=HostTable([store.partition], reads))
        self.replica.load()
        self.number = self.replica.number
        self.partition = self.replica.partition
        self.reached: list[int] = []
        self.waited: list[float] = []
        self.last_contact_s = 0.25

    @property
    def table(self) -> HostTable:
        return self.replica.table

    @property
    def log_position(self) -> LogPosition:
        return self.replica.log_position

    def apply_carried(self, entries: Sequence[LogEntry], epochs: Collection[int]) -> None:
        self.replica.apply_carried(entries, epochs)

    def reach(self, position: int, timeout: float) -> bool:
        self.reached.append(position)
        self.waited.append(timeout)
        while self.replica.log_position.position < position:
            self.replica.step(0)
        return True


def filter_driver() -> FilterDriver:
    """Return the default driver without components that read more host state than this view keeps."""
    multipliers = dict.fromkeys(("FreeShareWeigher", *SOFT_GROUP_WEIGHERS), 1.0)
    return FilterDriver(pipeline.build(DEFAULT_FILTERS), scoring.build(multipliers))


FILTER_POLICY = SchedulingPolicy(filter_driver(), pipeline.without_capacity(pipeline.build(DEFAULT_FILTERS)))


def unchanged(_policy: SchedulingPolicy, request: SchedulingRequest) -> SchedulingRequest:
    """Rewrite nothing, as without prefilters."""
    return request
