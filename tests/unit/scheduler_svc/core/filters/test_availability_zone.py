# SPDX-License-Identifier: Apache-2.0
"""Requests for an availability zone."""

import pytest

from tests.unit.scheduler_svc.core.filters.cloud import aggregate, passing_hosts
from tests.unit.scheduler_svc.fakes.hosts import node

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
