# SPDX-License-Identifier: Apache-2.0
"""Aggregates restricted to images."""

import pytest

from scheduler_svc.core.matching.options import FilterOptions
from tests.unit.scheduler_svc.core.filters.cloud import aggregate, make_nodes, passing_hosts, two_aggregates

NODES = make_nodes("one", "both", "two", "none")


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"os_type": "linux"}, ["one", "both", "none"]),
        ({"os_type": "windows"}, ["both", "two", "none"]),
        ({"os_type": "bsd"}, ["none"]),
        ({"secure": True}, ["one", "both", "none"]),
        ({"secure": False}, list(NODES)),
        ({"os_distro": "any"}, list(NODES)),
        ({}, list(NODES)),
    ],
)
def test_image_isolation_rejects_aggregates_for_other_images(properties, expected):
    aggregates = two_aggregates(os_type=("linux", "windows"), secure=("True", "False"))
    image = {"id": "i", "properties": properties}
    assert passing_hosts("AggregateImagePropertiesIsolation", NODES, aggregates, image=image) == expected


def test_properties_outside_the_namespace_are_ignored():
    options = FilterOptions(properties_namespace="mine", properties_separator=":")
    aggregates = [aggregate("one", **{"mine:tier": "gold", "os_type": "windows"})]
    fields = {"image": {"properties": {"mine:tier": "gold", "os_type": "linux"}}}
    assert passing_hosts("AggregateImagePropertiesIsolation", NODES, aggregates, options, **fields) == list(NODES)
    fields = {"image": {"properties": {"mine:tier": "iron"}}}
    assert passing_hosts("AggregateImagePropertiesIsolation", NODES, aggregates, options, **fields) == [
        "both",
        "two",
        "none",
    ]
