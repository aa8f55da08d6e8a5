# SPDX-License-Identifier: Apache-2.0
"""Joint ranking of calls that arrive within a window, for drivers that rank batches."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from oslo_log import log

from rpcapi import errors
from rpcapi.messaging import green
from scheduler_svc import metrics
from scheduler_svc.core.drivers.driver import BatchRanking, Driver, Ranking, RankRequest
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View
from scheduler_svc.core.trees.ranking import fit_to_trees
from scheduler_svc.scheduling import failing_hosts
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.group_members import add_group_members
from scheduler_svc.scheduling.interfaces import DecisionStore, ReplicaView
from scheduler_svc.scheduling.ranking import RankingSnapshot, SchedulingPolicy

LOG = log.getLogger(__name__)

RankTogether = Callable[[SchedulingPolicy, Sequence[SelectionCall]], Sequence[RankingSnapshot | None]]


class _Round:
    def __init__(self, policy: SchedulingPolicy | None = None) -> None:
        self.policy = policy
        self.calls: list[tuple[SelectionCall, Future[RankingSnapshot | None]]] = []
        self.full = threading.Event()


class BatchWindow:
    """Window that collects calls into rounds; the first caller of a round waits, then ranks all calls."""

    def __init__(self, rank: RankTogether, seconds: float, max_calls: int) -> None:
        """A round closes after ``seconds``, or when it has ``max_calls`` calls."""
        self._rank = rank
        self._seconds = seconds
        self._max_calls = max_calls
        self._lock = threading.Lock()
        self._round = _Round()

    def rank(self, policy: SchedulingPolicy, call: SelectionCall) -> RankingSnapshot | None:
        """Join the open round. Return this call's ranking, or None if the call must be decided alone."""
        future: Future[RankingSnapshot | None] = Future()
        with self._lock:
            if self._round.policy is not policy:  # the first call, or the first call after a reload
                self._round.full.set()
                self._round = _Round(policy)
            round_ = self._round
            round_.calls.append((call, future))
            is_leader = len(round_.calls) == 1
            if len(round_.calls) >= self._max_calls:
                round_.full.set()
                self._round = _Round()
        if is_leader:
            round_.full.wait(self._seconds)
            self._close(policy, round_)
        return future.result()

    def _close(self, policy: SchedulingPolicy, closed_round: _Round) -> None:
        with self._lock:
            if self._round is closed_round:
                self._round = _Round()
        snapshots: Sequence[RankingSnapshot | None] = [None] * len(closed_round.calls)
        try:
            snapshots = self._rank(policy, [call for call, _ in closed_round.calls])
        except errors.GanttError as error:
            LOG.warning("%d requests are decided one by one: %s", len(closed_round.calls), error)
        finally:
            # Also after an error, so that waiting calls do not hang.
            for (_, future), snapshot in zip(closed_round.calls, snapshots, strict=True):
                future.set_result(snapshot)


MAX_RANKED_TOGETHER = 100  # instances per call; larger calls would make the batch's problem too large


class BatchRanker:
    """Joint ranking of calls on one partition's table. Thread-safe."""

    def __init__(self, store: DecisionStore, replica: ReplicaView, window_s: float, max_batch: int) -> None:
        self._store = store
        self._replica = replica
        self._window = BatchWindow(self.rank_together, window_s, max_batch) if window_s > 0 else None

    def rank_in_window(self, policy: SchedulingPolicy, call: SelectionCall) -> RankingSnapshot | None:
        """Rank a call together with other calls of its window; None if it must be decided alone."""
        if self._window is None or not self._joins(policy, call):
            return None
        return self._window.rank(policy, call)

    def rank_together(self, policy: SchedulingPolicy, calls: Sequence[SelectionCall]) -> list[RankingSnapshot | None]:
        """Rank the calls of each driver together; None for each call that must be decided alone."""
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
                log_positions = view.log_positions
            # Solving is slow, so it blocks neither the table nor other green threads.
            batch = green.run_in_worker_pool(pending)
        _record_metrics(batch)
        with self._replica.table.reading() as view:
            rankings = [
                ranking and _fit_to_trees(view, rank_request.request, ranking)
                for rank_request, ranking in zip(rank_requests, batch.rankings, strict=True)
            ]
            names = {name for ranking in rankings if ranking for names in ranking.candidates for name in names}
            homes = view.partition_numbers(names)
            limits = [
                pipeline.claim_limits(driver.filters, view, rank_request.request, homes)
                for rank_request in rank_requests
            ]
        # Claimed positions are unknown: this worker may have made claims since the ranking, with log entries still
        # unread.
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
                claim_limits=claim_limits,
            )
            for rank_request, ranking, claim_limits in zip(rank_requests, rankings, limits, strict=True)
        ]


def _fit_to_trees(view: View, request: SchedulingRequest, ranking: Ranking) -> Ranking | None:
    return failing_hosts.decide(view, lambda view: fit_to_trees(view, request, ranking))


def _record_metrics(batch: BatchRanking) -> None:
    metrics.BATCHED_REQUESTS.inc(sum(ranking is not None for ranking in batch.rankings))
    for reason, count in batch.unbatched.items():
        metrics.UNBATCHED_REQUESTS.labels(reason=reason).inc(count)
        LOG.info("%d of %d requests of a batch are placed one by one: %s", count, len(batch.rankings), reason)
