# SPDX-License-Identifier: Apache-2.0
"""Filters by instance and address hints, isolated hosts, NUMA cells and PCI devices."""

import dataclasses

import pytest

from rpcapi.resources.groups import RequestGroup
from scheduler_svc.core.matching.options import FilterOptions
from scheduler_svc.core.request import DecisionContext
from tests.unit.scheduler_svc.core.filters.cloud import make_nodes, passing_hosts
from tests.unit.scheduler_svc.fakes.hosts import node

NODES = {
    **make_nodes("h1/a", host_ip="10.0.0.1"),
    **make_nodes("h1/b", host_ip="10.0.1.1"),
    **make_nodes("h2", host_ip="fd00::1"),
    **make_nodes("h3"),
}
ALL = list(NODES)
LOCATED = DecisionContext(instance_hosts={"u1": "h1/a", "u2": "h2"})


@pytest.mark.parametrize(
    ("uuids", "same", "different"),
    [
        ("u1", ["h1/a"], ["h1/b", "h2", "h3"]),
        (["u1", "u2", "u9"], ["h1/a", "h2"], ["h1/b", "h3"]),
        (["u9"], [], ALL),
        ([], ALL, ALL),
    ],
)
def test_same_host_and_different_host_hints(uuids, same, different):
    assert passing_hosts("SameHostFilter", NODES, hints={"same_host": uuids}, decision=LOCATED) == same
    assert passing_hosts("DifferentHostFilter", NODES, hints={"different_host": uuids}, decision=LOCATED) == different


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        ({}, ALL),
        ({"build_near_host_ip": "10.0.0.77"}, ["h1/a"]),
        ({"build_near_host_ip": ["10.0.0.77"], "cidr": "/23"}, ["h1/a", "h1/b"]),
        ({"build_near_host_ip": "fd00::77", "cidr": "/64"}, ["h2"]),
        ({"build_near_host_ip": "10.0.0.77", "cidr": "/0"}, ["h1/a", "h1/b"]),
    ],
)
def test_near_address_hint_accepts_hosts_in_the_network(hints, expected):
    assert passing_hosts("SimpleCIDRAffinityFilter", NODES, hints=hints) == expected


@pytest.mark.parametrize(
    ("image", "restricted", "expected"),
    [
        ("mine", True, ["h1/a", "h1/b"]),
        ("mine", False, ["h1/a", "h1/b"]),
        ("other", True, ["h2", "h3"]),
        (None, True, ["h2", "h3"]),
        ("other", False, ALL),
    ],
)
def test_isolated_hosts_accept_isolated_images(image, restricted, expected):
    options = FilterOptions(
        isolated_images=frozenset({"mine"}), isolated_hosts=("h1",), restrict_isolated_hosts=restricted
    )
    assert passing_hosts("IsolatedHostsFilter", NODES, options=options, image={"id": image}) == expected


def test_isolated_hosts_reject_requests_without_image():
    options = FilterOptions(isolated_hosts=("h1",))
    assert passing_hosts("IsolatedHostsFilter", NODES, options=options) == ["h2", "h3"]
    assert passing_hosts("IsolatedHostsFilter", NODES, options=dataclasses.replace(options, isolated_hosts=())) == ALL


def test_numa_topology_requires_numa_cells():
    nodes = {**make_nodes("cells", numa=[{"id": 0}]), **make_nodes("flat")}
    assert passing_hosts("NUMATopologyFilter", nodes, numa={"cells": [{"id": 0}]}) == ["cells"]
    assert passing_hosts("NUMATopologyFilter", nodes) == ["cells", "flat"]


def test_pci_devices_of_all_groups_are_summed():
    device = "CUSTOM_PCI_8086_1520"
    nodes = {"two": node({device: 2}), "three": node({device: 3}), "none": node()}
    groups = (
        RequestGroup("_pci0", {device: 1}),
        RequestGroup("_pci1", {device: 2}),
        RequestGroup("_dev0", {"VGPU": 9}),
    )
    assert passing_hosts("PciPassthroughFilter", nodes, groups=groups) == ["three"]
    assert passing_hosts("PciPassthroughFilter", nodes, groups=groups[:1]) == ["two", "three"]
    assert passing_hosts("PciPassthroughFilter", nodes, groups=groups[2:]) == list(nodes)


def test_all_hosts_filter_accepts_every_host():
    assert passing_hosts("AllHostsFilter", NODES) == ALL
