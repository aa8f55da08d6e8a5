# SPDX-License-Identifier: Apache-2.0
"""Aggregates of a project, of an availability zone, and reserved for requests with certain traits."""

import pytest

from rpcapi import errors
from rpcapi.resources.groups import RequestGroup
from scheduler_svc.core.prefilters import by_aggregate
from scheduler_svc.core.prefilters.by_aggregate import ISOLATED, build_tenants
from scheduler_svc.core.prefilters.options import PrefilterOptions
from tests.support.scheduler.hosts import request
from tests.unit.scheduler_svc.core.prefilters.rewritten import aggregate_view

TENANTS = {
    "first": {"filter_tenant_id": "red"},
    "second": {"filter_tenant_id2": "blue", "filter_tenant_id_x": "red"},
    "third": {"tenant": "blue"},
}


@pytest.mark.parametrize(
    ("project", "member_of"), [("red", (("first", "second"),)), ("blue", (("second",),)), ("green", ())]
)
def test_project_is_limited_to_the_aggregates_that_name_it(project, member_of):
    before = request(project=project)
    after = build_tenants(PrefilterOptions()).rewrite(before, aggregate_view(TENANTS))
    assert after.member_of == member_of
    assert (after is before) is (not member_of)


def test_requested_aggregates_are_required_too():
    before = request(project="blue", member_of=(("fast", "faster"),))
    after = build_tenants(PrefilterOptions()).rewrite(before, aggregate_view(TENANTS))
    assert after.member_of == (("fast", "faster"), ("second",))


def test_aggregate_that_names_a_project_twice_is_listed_once():
    twice = {"a": {"filter_tenant_id": "red", "filter_tenant_id_2": "red"}}
    assert build_tenants(PrefilterOptions()).rewrite(request(project="red"), aggregate_view(twice)).member_of == (
        ("a",),
    )


def test_project_without_aggregate_is_refused_if_it_needs_one():
    prefilter = build_tenants(PrefilterOptions(tenants_need_aggregate=True))
    with pytest.raises(errors.NoValidHost, match="no aggregate for project 'green'"):
        prefilter.rewrite(request(project="green"), aggregate_view(TENANTS))
    assert prefilter.rewrite(request(project="red"), aggregate_view(TENANTS)).member_of


ZONES = {
    "east": {"availability_zone": "z1"},
    "north": {"availability_zone": "z2"},
    "west": {"availability_zone": "z1"},
    "z9": {"disk": "z9"},
}


def rewrite_zone(zone, aggregates=ZONES, default_zone="nova", **fields):
    prefilter = by_aggregate.build_zones(PrefilterOptions(default_zone=default_zone))
    return prefilter.rewrite(request(availability_zone=zone, **fields), aggregate_view(aggregates))


@pytest.mark.parametrize(
    ("zone", "member_of"), [("z1", (("east", "west"),)), ("z2", (("north",),)), (None, ()), ("nova", ())]
)
def test_request_is_limited_to_the_aggregates_of_its_zone(zone, member_of):
    after = rewrite_zone(zone)
    assert (after.availability_zone, after.member_of) == (None, member_of)


def test_requested_aggregates_are_required_beside_those_of_the_zone():
    assert rewrite_zone("z2", member_of=(("fast",),)).member_of == (("fast",), ("north",))


def test_default_zone_that_aggregates_have_is_limited_to_them():
    assert rewrite_zone("z2", default_zone="z2").member_of == (("north",),)


@pytest.mark.parametrize(
    ("zone", "aggregates", "default_zone"),
    [("z9", ZONES, "nova"), ("z1", {}, "nova"), ("nova", ZONES, "other")],
)
def test_zone_without_aggregates_is_refused_unless_it_is_the_default(zone, aggregates, default_zone):
    with pytest.raises(errors.NoValidHost, match=f"unknown availability zone '{zone}': no aggregate has it"):
        rewrite_zone(zone, aggregates, default_zone)


ISOLATED_AGGREGATES = {
    "windows": {"trait:CUSTOM_LICENSED": "required"},
    "gold": {"trait:CUSTOM_GOLD": "required", "trait:CUSTOM_LICENSED": "required"},
    "open": {"trait:CUSTOM_GOLD": "forbidden", "rack": "r1"},
}


@pytest.mark.parametrize(
    ("fields", "forbidden"),
    [
        ({}, {"windows", "gold"}),
        ({"required_traits": ("CUSTOM_LICENSED",)}, {"gold"}),
        ({"root_required": ("CUSTOM_LICENSED",)}, {"gold"}),
        ({"required_traits": ("CUSTOM_LICENSED", "CUSTOM_GOLD")}, set()),
        ({"required_traits": ("CUSTOM_GOLD",)}, {"windows", "gold"}),
        ({"groups": (RequestGroup("_a", {"FPGA": 1}, ("CUSTOM_LICENSED",)),)}, {"gold"}),
    ],
)
def test_aggregate_is_forbidden_unless_all_its_traits_are_required(fields, forbidden):
    after = ISOLATED.rewrite(request(**fields), aggregate_view(ISOLATED_AGGREGATES))
    assert set(after.forbidden_aggregates) == forbidden


def test_forbidden_aggregates_of_the_request_are_kept():
    after = ISOLATED.rewrite(
        request(forbidden_aggregates=("own",)), aggregate_view({"gold": ISOLATED_AGGREGATES["gold"]})
    )
    assert after.forbidden_aggregates == ("own", "gold")


@pytest.mark.parametrize("aggregates", [{}, {"open": ISOLATED_AGGREGATES["open"]}])
def test_request_is_not_rewritten_without_isolated_aggregates(aggregates):
    before = request()
    assert ISOLATED.rewrite(before, aggregate_view(aggregates)) is before
