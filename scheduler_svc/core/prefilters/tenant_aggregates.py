# SPDX-License-Identifier: Apache-2.0
"""Prefilter that restricts a project to the aggregates that name it: Nova's require_tenant_aggregate."""

from dataclasses import replace

from rpcapi import errors
from scheduler_svc.core.prefilters.options import PrefilterOptions
from scheduler_svc.core.prefilters.prefilter import Prefilter
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.aggregates import READS, AggregateView

NAME = "require_tenant_aggregate"
REFUSAL = "no aggregate for project"
KEY = "filter_tenant_id"  # key prefix; each key names one project


def build(options: PrefilterOptions) -> Prefilter:
    """Build the prefilter. With ``options.tenants_need_aggregate``, it refuses projects without an aggregate."""

    def rewrite(request: SchedulingRequest, aggregates: AggregateView) -> SchedulingRequest:
        names = aggregates.get_or_compute(NAME, lambda: _by_project(aggregates)).get(request.project)
        if names:
            return replace(request, member_of=(*request.member_of, names))
        if options.tenants_need_aggregate:
            raise errors.NoValidHost(reason=f"{REFUSAL} {request.project!r}", reasons={})
        return request

    return Prefilter(NAME, rewrite, READS)


def _by_project(aggregates: AggregateView) -> dict[str, tuple[str, ...]]:
    aggregates_by_project: dict[str, tuple[str, ...]] = {}
    for name in aggregates.names:
        for key, project in aggregates.metadata(name).items():
            if key.startswith(KEY) and name not in aggregates_by_project.get(project, ()):
                aggregates_by_project[project] = (*aggregates_by_project.get(project, ()), name)
    return aggregates_by_project
