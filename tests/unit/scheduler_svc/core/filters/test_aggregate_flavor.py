# SPDX-License-Identifier: Apache-2.0
"""Aggregates restricted to flavors."""

import pytest

from tests.unit.scheduler_svc.core.filters.cloud import make_nodes, passing_hosts, two_aggregates

NODES = make_nodes("one", "both", "two", "none")


@pytest.mark.parametrize(
    ("flavor", "expected"),
    [("m1", ["one", "both", "none"]), ("m3", ["both", "two", "none"]), ("m9", ["none"]), (None, ["none"])],
)
def test_flavor_affinity_accepts_aggregates_that_name_the_flavor(flavor, expected):
    aggregates = two_aggregates(instance_type=("m1, m2", "m3"))
    assert passing_hosts("AggregateTypeAffinityFilter", NODES, aggregates, flavor=flavor) == expected
