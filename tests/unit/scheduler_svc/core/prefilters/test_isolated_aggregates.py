# SPDX-License-Identifier: Apache-2.0
"""Aggregates that are reserved for requests with certain traits."""

import pytest

from rpcapi.resources.groups import RequestGroup
from scheduler_svc.core.prefilters.by_aggregate import ISOLATED
from tests.support.scheduler.hosts import request
from tests.unit.scheduler_svc.core.prefilters.rewritten import aggregate_view

AGGREGATES = {
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
    after = ISOLATED.rewrite(request(**fields), aggregate_view(AGGREGATES))
    assert set(after.forbidden_aggregates) == forbidden


def test_forbidden_aggregates_of_the_request_are_kept():
    after = ISOLATED.rewrite(request(forbidden_aggregates=("own",)), aggregate_view({"gold": AGGREGATES["gold"]}))
    assert after.forbidden_aggregates == ("own", "gold")


@pytest.mark.parametrize("aggregates", [{}, {"open": AGGREGATES["open"]}])
def test_request_is_not_rewritten_without_isolated_aggregates(aggregates):
    before = request()
    assert ISOLATED.rewrite(before, aggregate_view(aggregates)) is before
