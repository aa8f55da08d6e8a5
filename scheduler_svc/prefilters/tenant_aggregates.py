# SPDX-License-Identifier: Apache-2.0
"""Keeps a project to the aggregates that name it, if any do; Nova's require_tenant_aggregate."""

from dataclasses import replace

from rpcapi import errors
from scheduler_svc.prefilters.options import Options
from scheduler_svc.prefilters.prefilter import Prefilter
from scheduler_svc.request import Request
from scheduler_svc.table.aggregates import AggregatesSeen

NAME = "require_tenant_aggregate"
KEY = "filter_tenant_id"  # and every key that begins so, each with one project


def build(options: Options) -> Prefilter:
    """Return the prefilter, which refuses projects without an aggregate where each needs one."""

    def rewrite(request: Request, aggregates: AggregatesSeen) -> Request:
        named = aggregates.once(NAME, lambda: _by_project(aggregates)).get(request.project)
        if named:
            return replace(request, member_of=(*request.member_of, named))
        if options.tenants_need_aggregate:
            raise errors.NoValidHost(reason=f"no aggregate is for project {request.project!r}", reasons={})
        return request

    return Prefilter(NAME, rewrite, {"aggregate": frozenset({"hosts", "metadata"})})


def _by_project(aggregates: AggregatesSeen) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name in aggregates.names:
        for key, project in aggregates.metadata(name).items():
            if key.startswith(KEY) and name not in found.get(project, ()):
                found[project] = (*found.get(project, ()), name)
    return found
