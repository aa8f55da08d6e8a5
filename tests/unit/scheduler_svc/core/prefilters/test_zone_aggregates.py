# SPDX-License-Identifier: Apache-2.0
"""Availability zones that are aggregates."""

import pytest

from rpcapi import errors
from scheduler_svc.core.prefilters import by_aggregate
from scheduler_svc.core.prefilters.options import PrefilterOptions
from tests.support.scheduler.hosts import request
from tests.unit.scheduler_svc.core.prefilters.rewritten import aggregate_view

AGGREGATES = {
    "east": {"availability_zone": "z1"},
    "north": {"availability_zone": "z2"},
    "west": {"availability_zone": "z1"},
    "z9": {"disk": "z9"},
}


def rewrite(zone, aggregates=AGGREGATES, default_zone="nova", **fields):
    prefilter = by_aggregate.build_zones(PrefilterOptions(default_zone=default_zone))
    return prefilter.rewrite(request(availability_zone=zone, **fields), aggregate_view(aggregates))


@pytest.mark.parametrize(
    ("zone", "member_of"), [("z1", (("east", "west"),)), ("z2", (("north",),)), (None, ()), ("nova", ())]
)
def test_request_is_limited_to_the_aggregates_of_its_zone(zone, member_of):
    after = rewrite(zone)
    assert (after.availability_zone, after.member_of) == (None, member_of)


def test_requested_aggregates_are_required_too():
    assert rewrite("z2", member_of=(("fast",),)).member_of == (("fast",), ("north",))


def test_default_zone_that_aggregates_have_is_limited_to_them():
    assert rewrite("z2", default_zone="z2").member_of == (("north",),)


@pytest.mark.parametrize(
    ("zone", "aggregates", "default_zone"),
    [("z9", AGGREGATES, "nova"), ("z1", {}, "nova"), ("nova", AGGREGATES, "other")],
)
def test_zone_without_aggregates_is_refused_unless_it_is_the_default(zone, aggregates, default_zone):
    with pytest.raises(errors.NoValidHost, match=f"unknown availability zone '{zone}': no aggregate has it"):
        rewrite(zone, aggregates, default_zone)
