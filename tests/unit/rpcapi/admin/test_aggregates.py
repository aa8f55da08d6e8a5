# SPDX-License-Identifier: Apache-2.0
"""Availability zones of nodes."""

import pytest

from rpcapi.admin.aggregates import ZonesByHost

AGGREGATES = [
    {"hosts": ["h1"], "metadata": {"availability_zone": "az1"}},
    {"hosts": ["h1/n2", "h3"], "metadata": {"availability_zone": "az0"}},
    {"hosts": ["h2"], "metadata": {"availability_zone": "az2"}, "deleted": True},
    {"hosts": ["h2"], "metadata": {"disk": "ssd"}},
    {"hosts": ["h2"]},
]


@pytest.mark.parametrize(
    ("name", "reported", "zones"),
    [
        ("h1/n1", "nova", ["az1"]),
        ("h1/n2", "nova", ["az0", "az1"]),
        ("h3", None, ["az0"]),
        ("h2/n1", "nova", ["nova"]),
        ("h2/n1", None, []),
    ],
)
def test_zones_of_aggregates_precede_the_reported_one(name, reported, zones):
    assert ZonesByHost(AGGREGATES).of(name, {"availability_zone": reported}) == zones


def test_node_that_reports_no_zone_has_none():
    assert ZonesByHost([]).of("h1/n1", {}) == []
