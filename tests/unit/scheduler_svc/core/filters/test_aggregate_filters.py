# SPDX-License-Identifier: Apache-2.0
"""Filters by aggregate metadata: projects, flavors, extra specs and images."""

import pytest

from scheduler_svc.core.matching.options import FilterOptions
from scheduler_svc.core.records import LogEntry
from tests.unit.scheduler_svc.core.filters.cloud import aggregate, make_nodes, make_table, passing_hosts, run_filter

NODES = make_nodes("one", "both", "two", "none")


def two_aggregates(**metadata):
    """Return two aggregates of two hosts each that share one host; each value is a pair of texts."""
    first, second = ({key: pair[index] for key, pair in metadata.items()} for index in (0, 1))
    return [aggregate("one", "both", **first), aggregate("both", "two", **second)]


@pytest.mark.parametrize(
    ("project", "expected"),
    [("p1", ["one", "both", "none"]), ("p3", ["both", "two", "none"]), ("p9", ["none"]), ("", ["none"])],
)
def test_project_isolation_accepts_only_hosts_for_the_project(project, expected):
    aggregates = two_aggregates(filter_tenant_id=("p1 , p2", "p3"))
    assert passing_hosts("AggregateMultiTenancyIsolation", NODES, aggregates, project=project) == expected


def test_projects_of_all_keys_with_the_prefix_are_accepted():
    aggregates = [aggregate("one", filter_tenant_id="p1", filter_tenant_id_more="p2", rack="r1")]
    assert passing_hosts("AggregateMultiTenancyIsolation", NODES, aggregates, project="p2") == list(NODES)
    assert passing_hosts("AggregateMultiTenancyIsolation", NODES, [aggregate("one", rack="r1")], project="p2") == list(
        NODES
    )


@pytest.mark.parametrize(
    ("flavor", "expected"),
    [("m1", ["one", "both", "none"]), ("m3", ["both", "two", "none"]), ("m9", ["none"]), (None, ["none"])],
)
def test_flavor_affinity_accepts_aggregates_that_name_the_flavor(flavor, expected):
    aggregates = two_aggregates(instance_type=("m1, m2", "m3"))
    assert passing_hosts("AggregateTypeAffinityFilter", NODES, aggregates, flavor=flavor) == expected


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


def test_cached_result_is_recomputed_when_an_aggregate_changes():
    name = "AggregateMultiTenancyIsolation"
    table = make_table(name, NODES, [aggregate("one", filter_tenant_id="p1")])
    assert run_filter(name, table, project="p2") == (["both", "two", "none"], {"aggregates of other projects": 1})
    table.apply(LogEntry(101, "state", {"aggregate": {"a0": aggregate("two", filter_tenant_id="p1")}}))
    assert run_filter(name, table, project="p2")[0] == ["one", "both", "none"]
    table.apply(LogEntry(102, "state", {"aggregate": {"a0": None}}))
    assert run_filter(name, table, project="p2")[0] == list(NODES)
