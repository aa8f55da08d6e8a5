# SPDX-License-Identifier: Apache-2.0
"""Requests for an availability zone."""

import pytest

from tests.support.scheduler.hosts import node
from tests.unit.scheduler_svc.core.filters.cloud import aggregate, make_table, passing_hosts, run_filter

NODES = {"a": node(zone="az1"), "b": node(zone="az2"), "c": node()}


@pytest.mark.parametrize(
    ("zone", "aggregates", "expected"),
    [
        (None, [], list(NODES)),
        ("az1", [], ["a"]),
        ("az9", [], []),
        ("az1", [aggregate("c", availability_zone="az1")], ["a", "c"]),
        ("az1", [aggregate("a", availability_zone="az3")], []),
        ("az3", [aggregate("a", "b", availability_zone="az3"), aggregate("c", rack="az3")], ["a", "b"]),
    ],
)
def test_zone_of_aggregates_overrides_the_reported_zone(zone, aggregates, expected):
    assert passing_hosts("AvailabilityZoneFilter", NODES, aggregates, availability_zone=zone) == expected


@pytest.mark.parametrize(
    ("zone", "reasons"),
    [
        ("az1", {"availability zone": 2}),
        ("az4", {"availability zone": 3}),  # an aggregate has it, but no host
        ("az9", {"unknown availability zone": 3}),
    ],
)
def test_reason_says_if_the_zone_is_unknown(zone, reasons):
    table = make_table("AvailabilityZoneFilter", NODES, [aggregate(availability_zone="az4")])
    assert run_filter("AvailabilityZoneFilter", table, availability_zone=zone)[1] == reasons
