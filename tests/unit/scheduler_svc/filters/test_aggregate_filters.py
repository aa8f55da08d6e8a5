# SPDX-License-Identifier: Apache-2.0
"""What aggregates keep their hosts for: projects, flavors, extra specs, images."""

import pytest

from scheduler_svc.filters.options import Options
from scheduler_svc.store.records import Entry
from tests.unit.scheduler_svc.filters.cloud import aggregate, passes, passing, table, telling

NODES = telling("one", "both", "two", "none")


def said(**metadata):
    """Return aggregates that say something of two hosts, and of two: one host is in both."""
    first, second = ({key: pair[index] for key, pair in metadata.items()} for index in (0, 1))
    return [aggregate("one", "both", **first), aggregate("both", "two", **second)]


@pytest.mark.parametrize(
    ("project", "left"),
    [("p1", ["one", "both", "none"]), ("p3", ["both", "two", "none"]), ("p9", ["none"]), ("", ["none"])],
)
def test_projects_are_kept_apart(project, left):
    aggregates = said(filter_tenant_id=("p1 , p2", "p3"))
    assert passing("AggregateMultiTenancyIsolation", NODES, aggregates, project=project) == left


def test_several_keys_name_projects_together():
    aggregates = [aggregate("one", filter_tenant_id="p1", filter_tenant_id_more="p2", rack="r1")]
    assert passing("AggregateMultiTenancyIsolation", NODES, aggregates, project="p2") == list(NODES)
    assert passing("AggregateMultiTenancyIsolation", NODES, [aggregate("one", rack="r1")], project="p2") == list(NODES)


@pytest.mark.parametrize(
    ("flavor", "left"),
    [("m1", ["one", "both", "none"]), ("m3", ["both", "two", "none"]), ("m9", ["none"]), (None, ["none"])],
)
def test_flavors_go_to_the_aggregates_that_name_them(flavor, left):
    aggregates = said(instance_type=("m1, m2", "m3"))
    assert passing("AggregateTypeAffinityFilter", NODES, aggregates, flavor=flavor) == left


@pytest.mark.parametrize(
    ("specs", "left"),
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
def test_what_a_flavor_asks_of_aggregates_one_of_the_hosts_must_say(specs, left):
    aggregates = said(ssd=("true", "false"), iops=("100", "50, 200"))
    assert passing("AggregateInstanceExtraSpecsFilter", NODES, aggregates, extra_specs=specs) == left


@pytest.mark.parametrize(
    ("properties", "left"),
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
def test_images_keep_off_aggregates_for_others(properties, left):
    aggregates = said(os_type=("linux", "windows"), secure=("True", "False"))
    image = {"id": "i", "properties": properties}
    assert passing("AggregateImagePropertiesIsolation", NODES, aggregates, image=image) == left


def test_a_namespace_narrows_which_properties_count():
    options = Options(properties_namespace="mine", properties_separator=":")
    aggregates = [aggregate("one", **{"mine:tier": "gold", "os_type": "windows"})]
    asked = {"image": {"properties": {"mine:tier": "gold", "os_type": "linux"}}}
    assert passing("AggregateImagePropertiesIsolation", NODES, aggregates, options, **asked) == list(NODES)
    asked = {"image": {"properties": {"mine:tier": "iron"}}}
    assert passing("AggregateImagePropertiesIsolation", NODES, aggregates, options, **asked) == ["both", "two", "none"]


def test_what_was_found_for_an_aggregate_is_found_anew_when_it_changes():
    name = "AggregateMultiTenancyIsolation"
    held = table(name, NODES, [aggregate("one", filter_tenant_id="p1")])
    assert passes(name, held, project="p2") == (["both", "two", "none"], {"aggregates of other projects": 1})
    held.apply(Entry(101, "state", {"aggregate": {"a0": aggregate("two", filter_tenant_id="p1")}}))
    assert passes(name, held, project="p2")[0] == ["one", "both", "none"]
    held.apply(Entry(102, "state", {"aggregate": {"a0": None}}))
    assert passes(name, held, project="p2")[0] == list(NODES)
