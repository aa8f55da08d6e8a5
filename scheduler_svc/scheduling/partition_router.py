# SPDX-License-Identifier: Apache-2.0
"""Router of calls to partitions, ordered by their best hosts."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress

from oslo_log import log

from rpcapi import errors
from rpcapi.resources import transient
from scheduler_svc import metrics
from scheduler_svc.core.drivers.driver import MAX_CANDIDATES_LARGE
from scheduler_svc.core.filters import partition as partition_filter
from scheduler_svc.replication.partitions import OpenPartition, OpenPartitions
from scheduler_svc.scheduling import refusals
from scheduler_svc.scheduling.calls import RefusedCall, SelectionCall, SelectionOutcome, ServedCall
from scheduler_svc.scheduling.earlier_attempts import EarlierAttempts
from scheduler_svc.scheduling.group_homes import GroupHomes
from scheduler_svc.scheduling.partition_scheduler import PartitionScheduler
from scheduler_svc.scheduling.pins import PartitionPins
from scheduler_svc.scheduling.ranking import RankingSnapshot, SchedulingPolicy
from scheduler_svc.store.records import GroupHome

LOG = log.getLogger(__name__)

_UNAVAILABLE = (partition_filter.REASON, transient.PARTITION_JUST_AWAY)  # reasons of hosts in unavailable partitions


class PartitionProspects:
    """Partitions that could serve a call, best host first: by a common ranking, or their own if it has too few."""

    def __init__(
        self,
        policy: SchedulingPolicy,
        call: SelectionCall,
        schedulers: Sequence[PartitionScheduler],
        unavailable_partitions: Sequence[str],
        just_unavailable: Sequence[str] = (),
    ) -> None:
        """``schedulers`` are in order of partition numbers. At least one partition must be available."""
        self._policy = policy
        self._call = call
        self._schedulers = schedulers
        self._unavailable_partitions = frozenset(unavailable_partitions)
        self._count = len(call.consumers)
        self._request = call.request.with_decision(
            unavailable_partitions=tuple(unavailable_partitions), just_unavailable=tuple(just_unavailable)
        )
        self._rank()

    def _rank(self) -> None:
        self._rejected_snapshots: dict[str, RankingSnapshot] = {}
        self._snapshots: dict[str, RankingSnapshot] = {}
        first = next(self._ordered(()))
        self.common_snapshot = first.take_snapshot(
            self._policy, self._request, self._count, explains=self._call.explains
        )
        self._remaining_partitions = self._search()

    def catch_up(self, refused: Collection[str]) -> bool:
        """Rank again if the rankings missed log entries of partitions that have not refused. Return whether it did."""
        positions = self.common_snapshot.log_positions
        others = [scheduler for scheduler in self._ordered(()) if scheduler.partition not in refused]
        is_behind = [scheduler.catch_up(self._call.ctxt, positions[scheduler.number]) for scheduler in others]
        if any(is_behind):
            self._rank()
        return any(is_behind)

    def best(self, excluded: Collection[str] = ()) -> str | None:
        """Return the best partition with capacity for all instances, or None."""
        for name in self._snapshots:
            if name not in excluded:
                return name
        return next((name for name in self._remaining_partitions if name not in excluded), None)

    def snapshot(self, partition: str) -> RankingSnapshot | None:
        """Return the first ranking to use in a partition, or None if not ranked yet."""
        return self._snapshots.get(partition) if self.common_snapshot.ranking.candidates else self.common_snapshot

    def refusal(self, refused: Mapping[str, RefusedCall]) -> errors.NoValidHost:
        """Return the refusal of all partitions. It counts each host once, whichever ranking rejected it."""
        ranking = self.common_snapshot.ranking
        if not ranking.candidates:
            return refusals.no_valid_host(ranking.reasons)
        if any(refusal.rejected_counts is ranking.reasons for refusal in refused.values()):
            # A partition decided by the common ranking, whose reasons are those of all partitions.
            counts = [ranking.reasons]
        else:
            rejected = {name: snapshot.ranking.reasons for name, snapshot in self._rejected_snapshots.items()}
            rejected |= {name: refusal.rejected_counts for name, refusal in refused.items()}
            # The common ranking alone counts the hosts of unavailable partitions.
            unavailable = {reason: ranking.reasons.get(reason, 0) for reason in _UNAVAILABLE}
            counts = [*rejected.values(), unavailable]
        counts += [refusal.lost_counts for refusal in refused.values()]
        return refusals.no_valid_host(+sum(map(Counter, counts), Counter()))

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


LINGER_S = 120.0  # longer than any call runs after agreeing on its partition
SEVERAL_PARTITIONS = "there are several partitions"
REASON_GROUP = "server group is in another partition"


class PartitionRouter:
    """Router that serves each call in exactly one partition. Thread-safe.

    The first worker to decide a call pins its partition, so that repeated calls never claim in two partitions. After a
    refusal, which leaves no claims, the pin may move. All members of a server group are in its home partition.
    """

    def __init__(
        self,
        partitions: OpenPartitions,
        make: Callable[[OpenPartition], PartitionScheduler],
        claim_ttl_s: float,
    ) -> None:
        self._partitions = partitions
        self._schedulers: Mapping[str, PartitionScheduler] = {
            partition.name: make(partition) for partition in partitions
        }
        self._claim_ttl_s = claim_ttl_s
        self._pin_ms = round(1000 * (claim_ttl_s + LINGER_S))
        self._pins = PartitionPins(list(partitions), claim_ttl_s + LINGER_S)
        self._homes = GroupHomes(partitions)
        self._earlier_attempts = EarlierAttempts(partitions)

    def select(self, policy: SchedulingPolicy, call: SelectionCall) -> ServedCall:
        """Select hosts in one partition. Raises like PartitionScheduler.select, and ClaimClosed."""
        call.ctxt.check_deadline()
        unavailable = [partition.name for partition in self._partitions if partition.presence.away]
        if len(unavailable) == len(self._partitions):
            raise errors.StoreUnavailable(why=f"none of the partitions {', '.join(unavailable)} answers")
        known_in = None if call.fresh else self._earlier_attempts.locate(call)
        just_unavailable = [
            name for name in unavailable if self._partitions.find(name).presence.away_s < transient.SECONDS
        ]
        prospects = PartitionProspects(policy, call, list(self._schedulers.values()), unavailable, just_unavailable)
        if known_in is None:
            return self._select(policy, call, prospects, unavailable)
        outcome = self._schedule(policy, call, GroupHome(known_in, ""), prospects=prospects)
        if isinstance(outcome, RefusedCall):
            raise outcome.error
        return outcome

    def select_batch(self, policy: SchedulingPolicy, calls: Sequence[SelectionCall]) -> list[SelectionOutcome]:
        """Serve calls one by one, because each depends on the capacity that earlier calls leave."""
        outcomes: list[SelectionOutcome] = []
        for call in calls:
            try:
                outcomes.append(self.select(policy, call))
            except errors.GanttError as error:
                outcomes.append(error)
        metrics.UNBATCHED_REQUESTS.labels(reason=SEVERAL_PARTITIONS).inc(len(outcomes))
        return outcomes

    def _select(
        self,
        policy: SchedulingPolicy,
        call: SelectionCall,
        prospects: PartitionProspects,
        unavailable: list[str],
    ) -> ServedCall:
        """Serve a call in its pinned partition or group home. If refused, try the next, unless the home has members."""
        group = call.request.group
        # Read epochs before agreeing on a home: in a later epoch, a partition may have forgotten that the group left.
        epochs = {partition.name: partition.replica.log_position.epoch for partition in self._partitions}
        proposed = self._propose(prospects, unavailable)
        home = GroupHome(self._agree(call, proposed), "") if group is None else self._homes.agree(group, proposed)
        refused: dict[str, RefusedCall] = {}
        has_caught_up = False
        while home.partition not in refused:
            if group is None and home.partition in unavailable:
                self._check_over(call, home.partition)
                refused[home.partition] = RefusedCall(refusals.no_valid_host({}))
            else:
                epoch = None if group is None else epochs[home.partition]
                outcome = self._schedule(policy, call, home, prospects=prospects, group_epoch=epoch)
                if isinstance(outcome, ServedCall):
                    return outcome
                refused[home.partition] = outcome
                if group is not None and not self._homes.leave(group, home):
                    raise self._refusal_at_home(home.partition, outcome.error)
            next_partition = prospects.best(excluded=refused)
            if next_partition is None and not has_caught_up and prospects.catch_up(refused):
                has_caught_up = True
                refused.clear()
                next_partition = prospects.best()
            if next_partition is None:
                break
            LOG.info("Partition %s cannot serve request %s, trying another", home.partition, call.request.id)
            if group is None:
                home = GroupHome(self._agree(call, next_partition, instead_of=home.partition), "")
            else:
                home = self._homes.move(group, home, next_partition)
        raise prospects.refusal(refused)

    def _refusal_at_home(self, home: str, error: errors.NoValidHost) -> errors.NoValidHost:
        here = self._partitions.find(home).replica
        elsewhere = here.unchecked_table.hosts - here.host_counts.hosts
        return refusals.no_valid_host({**error.reasons, REASON_GROUP: elsewhere})

    def _schedule(
        self,
        policy: SchedulingPolicy,
        call: SelectionCall,
        home: GroupHome,
        *,
        prospects: PartitionProspects,
        group_epoch: int | None = None,
    ) -> ServedCall | RefusedCall:
        partition = home.partition
        request = call.request.with_decision(
            partition=partition, group_generation=home.generation, group_epoch=group_epoch
        )
        try:
            return self._schedulers[partition].schedule(
                policy, replace(call, request=request), prospects.snapshot(partition)
            )
        except errors.StoreUnavailable:
            self._partitions.find(partition).presence.record_failure()
            raise

    def _check_over(self, call: SelectionCall, partition: str) -> None:
        """Raise StoreUnavailable while an unavailable partition may have live claims of an earlier call."""
        away_s = self._partitions.find(partition).presence.away_s
        if away_s < self._claim_ttl_s:
            raise errors.StoreUnavailable(
                why=f"partition {partition!r}, which serves this request, is unavailable; its claims may be live"
            )

    def _agree(self, call: SelectionCall, proposed: str, instead_of: str | None = None) -> str:
        """Return the call's pinned partition. Replace a pin to a partition that is no longer configured."""
        key = f"consumer:{call.consumers[0]}"
        partition = self._pins.agree(key, proposed, self._pin_ms, instead_of)
        if partition not in self._schedulers:
            partition = self._pins.agree(key, proposed, self._pin_ms, instead_of=partition)
        return partition

    def _propose(self, prospects: PartitionProspects, unavailable: Iterable[str]) -> str:
        """Return the best partition for an unpinned call. One whose store is full comes last."""
        full = [partition.name for partition in self._partitions if not partition.store.accepts_claims()]
        best = (prospects.best(excluded=full) if full else None) or prospects.best()
        names = (partition.name for partition in (self._partitions.own, *self._partitions))
        return best or next(name for name in names if name not in unavailable)
