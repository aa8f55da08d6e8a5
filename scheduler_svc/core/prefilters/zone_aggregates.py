# SPDX-License-Identifier: Apache-2.0
"""Prefilter for the aggregates of the requested availability zone: Nova's map_az_to_placement_aggregate."""

from dataclasses import replace

from rpcapi import errors
from scheduler_svc.core.prefilters.options import PrefilterOptions
from scheduler_svc.core.prefilters.prefilter import Prefilter
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.aggregates import READS, ZONE, AggregateView

NAME = "map_az_to_placement_aggregate"
UNKNOWN_ZONE = "unknown availability zone {!r}: no aggregate has it"


def build(options: PrefilterOptions) -> Prefilter:
    """Build the prefilter. It refuses zones without aggregates, except the default zone, which adds no condition."""

    def rewrite(request: SchedulingRequest, aggregates: AggregateView) -> SchedulingRequest:
        zone = request.availability_zone
        if zone is None:
            return request
        zones = aggregates.metadata_values(ZONE)  # by aggregate
        names = aggregates.get_or_compute(
            (NAME, zone), lambda: tuple(sorted(name for name, value in zones.items() if value == zone))
        )
        if not names and zone != options.default_zone:
            raise errors.NoValidHost(reason=UNKNOWN_ZONE.format(zone), reasons={})
        member_of = (*request.member_of, names) if names else request.member_of
        return replace(request, availability_zone=None, member_of=member_of)

    return Prefilter(NAME, rewrite, READS)
