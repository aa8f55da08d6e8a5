# SPDX-License-Identifier: Apache-2.0
"""Host attributes by their names in Nova's HostState."""

import numpy as np
import pytest

from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.matching.attributes import (
    COUNT_READS,
    NUMBERS,
    READS,
    fact_path,
    has_address,
    lookup,
    matches_name,
    number,
)
from scheduler_svc.core.reads import union
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import child_provider, node

TOTALS = {"VCPU": Inventory(8, reserved=2, allocation_ratio=2.0), "MEMORY_MB": 1000, "DISK_GB": 5}
NODES = {
    "a/n1": node(TOTALS, metrics={"instances": 3, "heat": 40}) | {"host_ip": "10.0.0.1"},
    "a/n2": node({}) | {"host_ip": "2001:db8::1"},
    "b": node({"VCPU": 4}),
    "b/cell": child_provider("b", "b", {"VCPU": 6}),
}
USED = {"a/n1": {"VCPU": 5, "MEMORY_MB": 400, "DISK_GB": 1}, "b/cell": {"VCPU": 2}}
ALL_READS = union([READS, COUNT_READS, {"compute": frozenset({"metrics.heat"})}])

EXPECTED = {
    "vcpus_total": [12, 0, 10],  # (8 - 2) * 2; of a host with a cell the sum
    "vcpus_used": [5, 0, 2],
    "total_usable_ram_mb": [1000, 0, 0],
    "free_ram_mb": [600, 0, 0],
    "total_usable_disk_gb": [5, 0, 0],
    "free_disk_mb": [4096, 0, 0],
    "disk_mb_used": [1024, 0, 0],
    "num_instances": [3, 0, 0],
    "num_io_ops": [0, 0, 0],
    "failed_builds": [0, 0, 0],
}


@pytest.fixture
def view():
    with hosts.table(NODES, USED, ALL_READS).reading() as view:
        yield view


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_hosts(view, name):
    assert number(view, [name]).tolist() == EXPECTED[name]


def test_metric_is_a_number_where_it_was_reported(view):
    heat = number(view, ["metrics", "heat"])
    assert heat[0] == 40 and np.isnan(heat[1:]).all()


def test_metric_that_workers_do_not_store_is_unknown(view):
    assert np.isnan(number(view, ["metrics", "noise"])).all()


@pytest.mark.parametrize(
    ("path", "within_facts"),
    [
        (["facts", "cpu_info", "model"], ["cpu_info", "model"]),
        (["stats", "x"], ["x"]),
        (["cpu_info", "model"], ["cpu_info", "model"]),
    ],
)
def test_path_within_facts(path, within_facts):
    assert fact_path(path) == within_facts


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["cpu_info", "model"], "Nehalem"),
        (["cpu_info"], {"model": "Nehalem"}),
        (["cpu_info", "vendor"], None),
        (["cpu_info", "model", "x"], None),
        (["nothing", "at", "all"], None),
    ],
)
def test_value_at_a_path_of_facts(path, value):
    assert lookup({"cpu_info": {"model": "Nehalem"}}, path) == value


@pytest.mark.parametrize(
    ("attribute", "texts", "expected"),
    [
        ("host", ["a"], ["a/n1", "a/n2"]),
        ("host", ["a/n1"], []),  # the name of a node, not of a service host
        ("host", ["b", "a b|", ""], ["b"]),
        ("hypervisor_hostname", ["a/n2", "b", "unknown"], ["a/n2", "b"]),
        ("nodename", ["a"], []),
        ("host_ip", ["10.0.0.1", "not an address", "2001:db8::1"], ["a/n1", "a/n2"]),
        ("host_ip", ["10.0.0.0"], []),
    ],
)
def test_names_and_addresses_match_rows(view, attribute, texts, expected):
    mask = matches_name(view, attribute, texts)
    assert [view.name(row) for row in np.flatnonzero(mask)] == expected


def test_rows_with_an_address_of_either_version(view):
    assert has_address(view).tolist() == [True, True, False]
