# SPDX-License-Identifier: Apache-2.0
"""Ranks the hosts of one cell, for alternates beyond the candidates of a claim: those are few, and of any cell."""

from collections.abc import Collection
from dataclasses import replace

from rpcapi import errors
from rpcapi.context import RequestContext
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.scheduling.unclaimed import UnclaimedRanker


class CellHosts:
    """The hosts that a request may use in a cell, best first, as this worker's table has them."""

    def __init__(self, ranker: UnclaimedRanker, ctxt: RequestContext, request: SchedulingRequest) -> None:
        self._ranker = ranker
        self._ctxt = ctxt
        self._request = request

    def rank(self, cell: str, count: int, ignored: Collection[str]) -> list[str]:
        """Return the names of ``count`` hosts or more, fewer if the cell has no others; none of ``ignored``.

        A refusal counts as none: the claims are made, and alternates are no reason to fail.
        """
        names: list[str] = []
        while len(names) < count:
            ignore_hosts = (*self._request.ignore_hosts, *ignored, *names)
            request = replace(self._request, source_cell=cell, stays_in_cell=True, ignore_hosts=ignore_hosts)
            try:
                (ranked,) = self._ranker.rank(self._ctxt, request, 1, rewrites=True)
            except errors.GanttError:
                break
            names += ranked
        return names
