# SPDX-License-Identifier: Apache-2.0
"""Prefilters by aggregate metadata, as Nova's of the same names."""

from dataclasses import replace

from rpcapi import errors
from scheduler_svc.core.prefilters.options import PrefilterOptions
from scheduler_svc.core.prefilters.prefilter import Prefilter
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.aggregates import READS, ZONE, AggregateView

TENANTS = "require_tenant_aggregate"
REFUSAL = "no aggregate for project"
TENANT_KEY = "filter_tenant_id"  # key prefix; each key names one project


def build_tenants(options: PrefilterOptions) -> Prefilter:
    """Build the prefilter. With ``options.tenants_need_aggregate``, it refuses projects without an aggregate."""

    def rewrite(request: SchedulingRequest, aggregates: AggregateView) -> SchedulingRequest:
        names = aggregates.get_or_compute(TENANTS, lambda: _by_project(aggregates)).get(request.project)
        if names:
            return replace(request, member_of=(*request.member_of, names))
        if options.tenants_need_aggregate:
            raise errors.NoValidHost(reason=f"{REFUSAL} {request.project!r}", reasons={})
        return request

    return Prefilter(TENANTS, rewrite, READS)


def _by_project(aggregates: AggregateView) -> dict[str, tuple[str, ...]]:
    aggregates_by_project: dict[str, tuple[str, ...]] = {}
    for name in aggregates.names:
        for key, project in aggregates.metadata(name).items():
            if key.startswith(TENANT_KEY) and name not in aggregates_by_project.get(project, ()):
                aggregates_by_project[project] = (*aggregates_by_project.get(project, ()), name)
    return aggregates_by_project


ZONES = "map_az_to_placement_aggregate"
UNKNOWN_ZONE = "unknown availability zone {!r}: no aggregate has it"


def build_zones(options: PrefilterOptions) -> Prefilter:
    """Build the prefilter. It refuses zones without aggregates, except the default zone, which adds no condition."""

    def rewrite(request: SchedulingRequest, aggregates: AggregateView) -> SchedulingRequest:
        zone = request.availability_zone
        if zone is None:
            return request
        zones = aggregates.metadata_values(ZONE)  # {aggregate: zone}
        names = aggregates.get_or_compute(
            (ZONES, zone), lambda: tuple(sorted(name for name, value in zones.items() if value == zone))
        )
        if not names and zone != options.default_zone:
            raise errors.NoValidHost(reason=UNKNOWN_ZONE.format(zone), reasons={})
        member_of = (*request.member_of, names) if names else request.member_of
        return replace(request, availability_zone=None, member_of=member_of)

    return Prefilter(ZONES, rewrite, READS)


ISOLATION = "isolate_aggregates"
TRAIT_PREFIX = "trait:"
REQUIRED = "required"


def isolate(request: SchedulingRequest, aggregates: AggregateView) -> SchedulingRequest:
    """Forbid the aggregates whose metadata requires a trait that the request does not require."""
    isolated = aggregates.get_or_compute(ISOLATION, lambda: _isolated_aggregates(aggregates))
    if not isolated:
        return request
    own = {*request.required_traits, *request.root_required}  # traits required of the root provider
    requested = own.union(*(group.required for group in request.groups))
    forbidden = tuple(name for name, traits in isolated.items() if not traits <= requested)
    return replace(request, forbidden_aggregates=(*request.forbidden_aggregates, *forbidden)) if forbidden else request


def _isolated_aggregates(aggregates: AggregateView) -> dict[str, frozenset[str]]:
    traits_by_name = {
        name: frozenset(
            key.removeprefix(TRAIT_PREFIX)
            for key, value in aggregates.metadata(name).items()
            if key.startswith(TRAIT_PREFIX) and value == REQUIRED
        )
        for name in aggregates.names
    }
    return {name: traits for name, traits in traits_by_name.items() if traits}


ISOLATED = Prefilter(ISOLATION, isolate, READS)
