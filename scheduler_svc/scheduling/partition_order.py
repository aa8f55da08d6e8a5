# SPDX-License-Identifier: Apache-2.0
"""Order in which partitions are tried for a request, best host first."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress

from rpcapi import errors
from rpcapi.resources.claims import PARTITION_UNAVAILABLE
from scheduler_svc.core.drivers.driver import MAX_CANDIDATES_LARGE
from scheduler_svc.scheduling import refusals
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.partition_scheduler import PartitionScheduler
from scheduler_svc.scheduling.policy import SchedulingPolicy
from scheduler_svc.scheduling.ranking import RankingSnapshot


class PartitionProspects:
    """Ranks hosts of all partitions together, so that a score does not depend on the partition.

    All instances of a call go to one partition: the best host's, or if it lacks capacity, the next. Partitions with too
    few hosts in the common ranking are ranked again alone.
    """

    def __init__(
        self,
        policy: SchedulingPolicy,
        call: SelectionCall,
        schedulers: Sequence[PartitionScheduler],
        unavailable_partitions: Sequence[str],
    ) -> None:
        """``schedulers`` are indexed by partition number. At least one partition must be available."""
        self._policy = policy
        self._call = call
        self._schedulers = schedulers
        self._unavailable_partitions = frozenset(unavailable_partitions)
        self._count = len(call.consumers)
        self._rejected_snapshots: dict[str, RankingSnapshot] = {}
        self._snapshots: dict[str, RankingSnapshot] = {}
        first = next(self._ordered(()))
        self.common_snapshot = first.take_snapshot(
            policy,
            call.request.with_decision(unavailable_partitions=tuple(unavailable_partitions)),
            self._count,
            explains=call.explains,
        )
        self._remaining_partitions = self._search()

    def best(self, excluded: Collection[str] = ()) -> str | None:
        """Return the best partition with capacity for all instances that is not ``excluded``, or None."""
        for name in self._snapshots:
            if name not in excluded:
                return name
        return next((name for name in self._remaining_partitions if name not in excluded), None)

    def snapshot(self, partition: str) -> RankingSnapshot | None:
        """Return the first ranking to use in a partition; None if it was not ranked yet."""
        return self._snapshots.get(partition) if self.common_snapshot.ranking.candidates else self.common_snapshot

    def refusal(self, refused: Mapping[str, errors.NoValidHost]) -> errors.NoValidHost:
        ranking = self.common_snapshot.ranking
        if not ranking.candidates:
            return refusals.no_valid_host(ranking.reasons)
        reason_counts: Counter[str] = Counter()
        for error in refused.values():
            reason_counts.update(error.reasons)
        for name, snapshot in self._rejected_snapshots.items():
            reason_counts.update(snapshot.ranking.reasons if name not in refused else {})
        reason_counts.update({PARTITION_UNAVAILABLE: ranking.reasons.get(PARTITION_UNAVAILABLE, 0)})
        return refusals.no_valid_host(+reason_counts)

    def _search(self) -> Iterator[str]:
        candidates, homes = self.common_snapshot.ranking.candidates, self.common_snapshot.homes
        numbers = list(dict.fromkeys(homes[name] for names in candidates for name in names))
        if len(numbers) == 1:
            name = self._schedulers[numbers[0]].partition
            self._snapshots[name] = self.common_snapshot
            yield name
        elif not numbers:
            return
        for scheduler in self._ordered(numbers):
            if scheduler.partition in self._snapshots:
                continue
            snapshot = self._partition_snapshot(scheduler)
            if snapshot.ranking.candidates:
                self._snapshots[scheduler.partition] = snapshot
                yield scheduler.partition
            else:
                self._rejected_snapshots[scheduler.partition] = snapshot

    def _partition_snapshot(self, scheduler: PartitionScheduler) -> RankingSnapshot:
        ranking, homes = self.common_snapshot.ranking, self.common_snapshot.homes
        if self._count == 1 and ranking.candidates:
            is_here = [homes[name] == scheduler.number for name in ranking.candidates[0]]
            if sum(is_here) > max(MAX_CANDIDATES_LARGE - 1, self._call.alternates):
                names = list(compress(ranking.candidates[0], is_here))
                near = max(1, sum(is_here[: ranking.near]))
                return replace(self.common_snapshot, ranking=replace(ranking, candidates=[names], near=near))
        request = self._call.request.with_decision(partition=scheduler.partition)
        snapshot = scheduler.take_snapshot(self._policy, request, self._count)
        return replace(snapshot, samples=snapshot.samples or self.common_snapshot.samples)

    def _ordered(self, first: Sequence[int]) -> Iterator[PartitionScheduler]:
        for number in dict.fromkeys([*first, *range(len(self._schedulers))]):
            if self._schedulers[number].partition not in self._unavailable_partitions:
                yield self._schedulers[number]
