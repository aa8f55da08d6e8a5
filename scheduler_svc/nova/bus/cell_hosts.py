# SPDX-License-Identifier: Apache-2.0
"""Ranks the hosts of one cell, for alternates beyond the candidates of a claim: those are few, and of any cell."""

import contextlib
from collections.abc import Collection
from dataclasses import replace

from rpcapi import errors
from rpcapi.context import RequestContext
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.unclaimed import UnclaimedRanker


def rank_in_cell(
    ranker: UnclaimedRanker,
    ctxt: RequestContext,
    call: SelectionCall,
    *,
    cell: str,
    count: int,
    ignored: Collection[str],
) -> list[str]:
    """Return the names of ``count`` hosts or more, fewer if the cell has no others; none of ``ignored``.

    They are those that a request may use in a cell, best first, as this worker's table has them. A refusal counts as
    none: the claims are made, and alternates are no reason to fail.
    """
    names: list[str] = []
    with contextlib.suppress(errors.GanttError):
        request = ranker.with_group_members(call)
        while len(names) < count:
            ignore_hosts = (*request.ignore_hosts, *ignored, *names)
            in_cell = replace(request, source_cell=cell, stays_in_cell=True, ignore_hosts=ignore_hosts)
            (ranked,) = ranker.rank(ctxt, in_cell, 1, rewrites=True)
            names += ranked
    return names
