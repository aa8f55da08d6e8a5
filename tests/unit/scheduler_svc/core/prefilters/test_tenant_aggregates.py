# SPDX-License-Identifier: Apache-2.0
"""Aggregates of a project."""

import pytest

from rpcapi import errors
from scheduler_svc.core.prefilters.by_aggregate import build_tenants
from scheduler_svc.core.prefilters.options import PrefilterOptions
from tests.support.scheduler.hosts import request
from tests.unit.scheduler_svc.core.prefilters.rewritten import aggregate_view

AGGREGATES = {
    "first": {"filter_tenant_id": "red"},
    "second": {"filter_tenant_id2": "blue", "filter_tenant_id_x": "red"},
    "third": {"tenant": "blue"},
}


@pytest.mark.parametrize(
    ("project", "member_of"), [("red", (("first", "second"),)), ("blue", (("second",),)), ("green", ())]
)
def test_project_is_limited_to_the_aggregates_that_name_it(project, member_of):
    before = request(project=project)
    after = build_tenants(PrefilterOptions()).rewrite(before, aggregate_view(AGGREGATES))
    assert after.member_of == member_of
    assert (after is before) is (not member_of)


def test_requested_aggregates_are_required_too():
    before = request(project="blue", member_of=(("fast", "faster"),))
    after = build_tenants(PrefilterOptions()).rewrite(before, aggregate_view(AGGREGATES))
    assert after.member_of == (("fast", "faster"), ("second",))


def test_aggregate_that_names_a_project_twice_is_listed_once():
    twice = {"a": {"filter_tenant_id": "red", "filter_tenant_id_2": "red"}}
    assert build_tenants(PrefilterOptions()).rewrite(request(project="red"), aggregate_view(twice)).member_of == (
        ("a",),
    )


def test_project_without_aggregate_is_refused_if_it_needs_one():
    prefilter = build_tenants(PrefilterOptions(tenants_need_aggregate=True))
    with pytest.raises(errors.NoValidHost, match="no aggregate for project 'green'"):
        prefilter.rewrite(request(project="green"), aggregate_view(AGGREGATES))
    assert prefilter.rewrite(request(project="red"), aggregate_view(AGGREGATES)).member_of
