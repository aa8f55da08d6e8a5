# SPDX-License-Identifier: Apache-2.0
"""Batches of calls: ranked together, then claimed call by call, each all or nothing."""

from collections.abc import Sequence

from oslo_log import log

from rpcapi.context import RequestContext
from rpcapi.messaging import green
from scheduler_svc import metrics
from scheduler_svc.core.drivers.driver import BatchRanking, Ranking, RankRequest
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View
from scheduler_svc.core.trees.ranking import fit_to_trees
from scheduler_svc.scheduling import failing_hosts
from scheduler_svc.scheduling.calls import RefusedCall, SelectionCall, SelectionOutcome, SelectionResult
from scheduler_svc.scheduling.policy import SchedulingPolicy
from scheduler_svc.scheduling.ranking import RankingSnapshot
from scheduler_svc.scheduling.selector import Selector
from scheduler_svc.scheduling.server_groups import add_group_members
from scheduler_svc.scheduling.window import BatchWindow

LOG = log.getLogger(__name__)

MAX_RANKED_TOGETHER = 100  # instances of one call; a larger one would make the problem of its batch too large


class BatchSelector:
    """Selects hosts in one partition, and ranks concurrent calls together; safe to call from many threads."""

    def __init__(self, selector: Selector, window_s: float = 0.0, max_calls: int = 1) -> None:
        """``window_s`` is how long a call waits for others to join its batch, ``max_calls`` the size of a batch."""
        self._selector = selector
        self._window = BatchWindow(self.rank_together, window_s, max_calls) if window_s > 0 else None

    def select(self, policy: SchedulingPolicy, ctxt: RequestContext, call: SelectionCall) -> SelectionResult:
        """Select as Selector.select does, ranked together with calls that arrive in the same window."""
        snapshot = None
        if self._window is not None and self._joins(policy, call):
            snapshot = self._window.rank(policy, call)
        outcome = self._selector.place(policy, ctxt, call, snapshot)
        if isinstance(outcome, RefusedCall):
            raise outcome.error
        return outcome

    def select_batch(
        self, policy: SchedulingPolicy, contexts: Sequence[RequestContext], calls: Sequence[SelectionCall]
    ) -> list[SelectionOutcome]:
        """Return for each call its claims, or the error that ``select`` would raise.

        Candidates lost to others are decided again, and so, last, are the calls that did not fit beside the rest.
        """
        snapshots = self.rank_together(policy, calls)
        outcomes: dict[int, SelectionOutcome] = {}
        for is_ranked in (True, False):
            numbers = [number for number in range(len(calls)) if (snapshots[number] is not None) is is_ranked]
            results = self._selector.place_all(
                policy,
                [contexts[number] for number in numbers],
                [calls[number] for number in numbers],
                [snapshots[number] for number in numbers],
            )
            for number, outcome in zip(numbers, results, strict=True):
                outcomes[number] = outcome.error if isinstance(outcome, RefusedCall) else outcome
        return [outcomes[number] for number in range(len(calls))]

    def rank_together(self, policy: SchedulingPolicy, calls: Sequence[SelectionCall]) -> list[RankingSnapshot | None]:
        """Rank calls together; the entry of a call that must be decided on its own is None."""
        snapshots: list[RankingSnapshot | None] = [None] * len(calls)
        joining = [number for number, call in enumerate(calls) if self._joins(policy, call)]
        if len(joining) < 2:
            return snapshots
        requests = [add_group_members(self._selector.store, calls[number]) for number in joining]
        counts = [len(calls[number].consumers) for number in joining]
        for number, snapshot in zip(joining, self._rank(policy, requests, counts), strict=True):
            snapshots[number] = snapshot
        return snapshots

    @staticmethod
    def _joins(policy: SchedulingPolicy, call: SelectionCall) -> bool:
        return len(call.consumers) <= MAX_RANKED_TOGETHER and policy.driver.batches(call.request)

    def _rank(
        self, policy: SchedulingPolicy, requests: Sequence[SchedulingRequest], counts: Sequence[int]
    ) -> list[RankingSnapshot | None]:
        rank_requests = [
            RankRequest(request, count, request.seed) for request, count in zip(requests, counts, strict=True)
        ]
        with metrics.BATCH_SECONDS.time():
            with self._selector.table.reading() as view:
                pending = failing_hosts.decide(view, lambda view: policy.driver.rank_batch(view, rank_requests))
                log_positions = view.partitions.log_positions
            # Solving takes long: it must block neither the table nor other green threads.
            batch = green.run_in_worker_pool(pending)
        _record_metrics(batch)
        with self._selector.table.reading() as view:
            rankings = [
                ranking and _fit_to_trees(view, rank_request.request, ranking)
                for rank_request, ranking in zip(rank_requests, batch.rankings, strict=True)
            ]
            names = {name for ranking in rankings if ranking for names in ranking.candidates for name in names}
            homes = view.partitions.numbers(names)
        # No claimed positions: this worker's claims since the ranking are in no log entry that it has read.
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
