# SPDX-License-Identifier: Apache-2.0
"""Ranks the hosts of one cell, for alternates beyond the candidates of a claim: those are few, and of any cell."""

import contextlib
from collections.abc import Collection
from dataclasses import replace

from rpcapi import errors
from rpcapi.context import RequestContext
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.unclaimed import UnclaimedRanker


class CellHosts:
    """The hosts that a request may use in a cell, best first, as this worker's table has them."""

    def __init__(self, ranker: UnclaimedRanker, ctxt: RequestContext, call: SelectionCall) -> None:
        self._ranker = ranker
        self._ctxt = ctxt
        self._call = call

    def rank(self, cell: str, count: int, ignored: Collection[str]) -> list[str]:
        """Return the names of ``count`` hosts or more, fewer if the cell has no others; none of ``ignored``.

        A refusal counts as none: the claims are made, and alternates are no reason to fail.
        """
        names: list[str] = []
        with contextlib.suppress(errors.GanttError):
            request = self._ranker.with_group_members(self._call)
            while len(names) < count:
                ignore_hosts = (*request.ignore_hosts, *ignored, *names)
                in_cell = replace(request, source_cell=cell, stays_in_cell=True, ignore_hosts=ignore_hosts)
                (ranked,) = self._ranker.rank(self._ctxt, in_cell, 1, rewrites=True)
                names += ranked
        return names
