# SPDX-License-Identifier: Apache-2.0
"""Joint ranking of many calls, for drivers that rank batches."""

from collections.abc import Sequence

from oslo_log import log

from rpcapi.messaging import green
from scheduler_svc import metrics
from scheduler_svc.core.drivers.driver import BatchRanking, Driver, Ranking, RankRequest
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View
from scheduler_svc.core.trees.ranking import fit_to_trees
from scheduler_svc.scheduling import failing_hosts
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.interfaces import DecisionStore, ReplicaView
from scheduler_svc.scheduling.policy import SchedulingPolicy
from scheduler_svc.scheduling.ranking import RankingSnapshot
from scheduler_svc.scheduling.server_groups import add_group_members
from scheduler_svc.scheduling.window import BatchWindow, WindowLimits

LOG = log.getLogger(__name__)

MAX_RANKED_TOGETHER = 100  # instances per call; larger calls would make the batch's problem too large


class BatchRanker:
    """Ranks calls together on one partition's table. Thread-safe."""

    def __init__(self, store: DecisionStore, replica: ReplicaView, window: WindowLimits) -> None:
        self._store = store
        self._replica = replica
        self._window = BatchWindow(self.rank_together, window.seconds, window.max_calls) if window.seconds > 0 else None

    def rank_in_window(self, policy: SchedulingPolicy, call: SelectionCall) -> RankingSnapshot | None:
        """Rank a call with others of the same window; None: decide it alone."""
        if self._window is None or not self._joins(policy, call):
            return None
        return self._window.rank(policy, call)

    def rank_together(self, policy: SchedulingPolicy, calls: Sequence[SelectionCall]) -> list[RankingSnapshot | None]:
        """Rank the calls of each driver together; None for calls to decide alone."""
        snapshots: list[RankingSnapshot | None] = [None] * len(calls)
        joining: dict[Driver, list[int]] = {}
        for number, call in enumerate(calls):
            if self._joins(policy, call):
                joining.setdefault(policy.driver_for(call.request), []).append(number)
        for driver, numbers in joining.items():
            if len(numbers) > 1:
                requests = [add_group_members(self._store, calls[number]) for number in numbers]
                counts = [len(calls[number].consumers) for number in numbers]
                for number, snapshot in zip(numbers, self._rank(driver, requests, counts), strict=True):
                    snapshots[number] = snapshot
        return snapshots

    @staticmethod
    def _joins(policy: SchedulingPolicy, call: SelectionCall) -> bool:
        return len(call.consumers) <= MAX_RANKED_TOGETHER and policy.driver_for(call.request).batches(call.request)

    def _rank(
        self, driver: Driver, requests: Sequence[SchedulingRequest], counts: Sequence[int]
    ) -> list[RankingSnapshot | None]:
        rank_requests = [
            RankRequest(request, count, request.seed) for request, count in zip(requests, counts, strict=True)
        ]
        with metrics.BATCH_SECONDS.time():
            with self._replica.table.reading() as view:
                pending = failing_hosts.decide(view, lambda view: driver.rank_batch(view, rank_requests))
                log_positions = view.partitions.log_positions
            # Solving is slow: block neither the table nor other green threads.
            batch = green.run_in_worker_pool(pending)
        _record_metrics(batch)
        with self._replica.table.reading() as view:
            rankings = [
                ranking and _fit_to_trees(view, rank_request.request, ranking)
                for rank_request, ranking in zip(rank_requests, batch.rankings, strict=True)
            ]
            names = {name for ranking in rankings if ranking for names in ranking.candidates for name in names}
            homes = view.partitions.numbers(names)
        # Log entries of this worker's claims since the ranking are still unread, so claimed positions are unknown.
        return [
            None
            if ranking is None
            else RankingSnapshot(
                ranking,
                rank_request.seed,
                log_positions,
                homes,
                {},
                rank_request.request.decision.group_hosts if rank_request.request.group is not None else None,
            )
            for rank_request, ranking in zip(rank_requests, rankings, strict=True)
        ]


def _fit_to_trees(view: View, request: SchedulingRequest, ranking: Ranking) -> Ranking | None:
    return failing_hosts.decide(view, lambda view: fit_to_trees(view, request, ranking))


def _record_metrics(batch: BatchRanking) -> None:
    metrics.BATCHED_REQUESTS.inc(sum(ranking is not None for ranking in batch.rankings))
    for reason, count in batch.unbatched.items():
        metrics.UNBATCHED_REQUESTS.labels(reason=reason).inc(count)
        LOG.info("%d of %d requests of a batch are placed one by one: %s", count, len(batch.rankings), reason)
