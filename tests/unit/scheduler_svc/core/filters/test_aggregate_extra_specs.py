# SPDX-License-Identifier: Apache-2.0
"""Extra specs matched with aggregate metadata."""

import pytest

from tests.unit.scheduler_svc.core.filters.cloud import make_nodes, passing_hosts, two_aggregates

NODES = make_nodes("one", "both", "two", "none")


@pytest.mark.parametrize(
    ("specs", "expected"),
    [
        ({"aggregate_instance_extra_specs:ssd": "true"}, ["one", "both"]),
        ({"ssd": "s!= true"}, ["both", "two"]),
        ({"aggregate_instance_extra_specs:iops": ">= 200"}, ["both", "two"]),
        ({"ssd": "true", "iops": ">= 200"}, ["both"]),
        ({"gpu": "true"}, []),
        ({"capabilities:ssd": "true", "hw:cpu_policy": "dedicated"}, list(NODES)),
        ({}, list(NODES)),
    ],
)
def test_extra_specs_must_match_an_aggregate_of_the_host(specs, expected):
    aggregates = two_aggregates(ssd=("true", "false"), iops=("100", "50, 200"))
    assert passing_hosts("AggregateInstanceExtraSpecsFilter", NODES, aggregates, extra_specs=specs) == expected
