# SPDX-License-Identifier: Apache-2.0
"""Free capacity and unit rules."""

import pytest

from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import LogEntry
from tests.support.scheduler.hosts import child_provider, node
from tests.unit.scheduler_svc.core.filters.cloud import make_table, passing_hosts, run_filter

NODES = {"a": node(), "b": node({"VCPU": 1, "MEMORY_MB": 16384, "DISK_GB": 200}), "c": node({"VCPU": 8})}


def test_each_class_has_its_own_reason():
    reasons = {"not enough VCPU": 1, "not enough MEMORY_MB": 1}
    assert run_filter("ResourcesFilter", make_table("ResourcesFilter", NODES)) == (["a"], reasons)


def test_claims_are_subtracted():
    table = make_table("ResourcesFilter", NODES)
    for used, expected in ((12288, ["a"]), (12289, [])):
        table.apply(LogEntry(100 + used, "used", {"a": {"MEMORY_MB": used}}))
        assert run_filter("ResourcesFilter", table)[0] == expected


def test_host_without_the_resource_class_is_rejected():
    assert passing_hosts("ResourcesFilter", NODES, resources={"CUSTOM_GPU": 1}) == []


@pytest.mark.parametrize(
    ("inventory", "amount", "passes"),
    [
        (Inventory(64, min_unit=4), 3, False),
        (Inventory(64, min_unit=4), 4, True),
        (Inventory(64, max_unit=8), 9, False),
        (Inventory(64, max_unit=8), 8, True),
        (Inventory(64, step_size=4), 6, False),
        (Inventory(64, step_size=4), 8, True),
        (Inventory(10, reserved=2, allocation_ratio=1.15), 9, True),
        (Inventory(10, reserved=2, allocation_ratio=1.15), 10, False),
    ],
)
def test_unit_rules_and_capacity(inventory, amount, passes):
    survivors = passing_hosts("ResourcesFilter", {"x": node({"VCPU": inventory})}, resources={"VCPU": amount})
    assert bool(survivors) is passes


def test_different_providers_of_a_tree_may_serve_the_classes():
    nodes = {
        "tree": node({"VCPU": 8}),
        "tree/disk": child_provider("tree", "tree", {"DISK_GB": Inventory(100, step_size=10)}),
        "flat": node({"VCPU": 8}),
    }
    for disk, expected in ((20, ["tree"]), (25, []), (110, [])):
        assert passing_hosts("ResourcesFilter", nodes, resources={"VCPU": 8, "DISK_GB": disk}) == expected
