# SPDX-License-Identifier: Apache-2.0
"""Ranking for requests that make no claims and leave no record."""

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from rpcapi import errors
from rpcapi.context import RequestContext
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.trees.ranking import rank
from scheduler_svc.replication.partitions import OpenPartitions
from scheduler_svc.scheduling import failing_hosts, refusals
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.group_members import add_group_members
from scheduler_svc.scheduling.intake import RequestRewriter
from scheduler_svc.scheduling.ranking import CurrentPolicy


class UnclaimedRanker:
    """Ranking on this worker's table, without the store. Thread-safe."""

    def __init__(self, current: CurrentPolicy, partitions: OpenPartitions, rewriter: RequestRewriter) -> None:
        self._current = current
        self._partitions = partitions
        self._rewriter = rewriter

    def rank(
        self, ctxt: RequestContext, request: SchedulingRequest, count: int, *, rewrites: bool
    ) -> Sequence[Sequence[str]]:
        """Return the candidates of each instance, best first; ``rewrites``: with prefilters. Raises NoValidHost."""
        ctxt.check_deadline()
        policy = self._current.policy
        driver = policy.driver_for(request)
        table = self._partitions.own.replica.table
        if rewrites:
            request = self._rewriter.rewrite(policy, request)
        with table.reading() as view:
            rank_hosts = partial(rank, driver) if rewrites else driver.rank
            ranking = failing_hosts.decide(view, lambda view: rank_hosts(view, request, count, request.seed))
        if not ranking.candidates:
            raise refusals.no_valid_host(ranking.reasons)
        return ranking.candidates

    def rank_in_cell(self, call: SelectionCall, *, cell: str, count: int, ignored: Collection[str]) -> list[str]:
        """Return the best allowed hosts of a cell, except ``ignored``.

        At least ``count`` hosts are returned, if there are as many. They are alternates in addition to a claim's
        candidates, which are few and in any cell. After a refusal, fewer or no hosts are returned: missing alternates
        are no reason to fail.
        """
        names: list[str] = []
        with contextlib.suppress(errors.GanttError):
            request = add_group_members(self._partitions.own.store, call)
            while len(names) < count:
                ignore_hosts = (*request.ignore_hosts, *ignored, *names)
                in_cell = replace(request, source_cell=cell, stays_in_cell=True, ignore_hosts=ignore_hosts)
                (ranked,) = self.rank(call.ctxt, in_cell, 1, rewrites=True)
                names += ranked
        return names
