# SPDX-License-Identifier: Apache-2.0
"""Ranking of one cell's hosts, for alternates beyond a claim's candidates, which are few and in any cell."""

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
    """Return the best allowed hosts of a cell, at least ``count`` if there are as many, without ``ignored``.

    This worker's table decides. A refusal means no hosts: missing alternates are no reason to fail.
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
