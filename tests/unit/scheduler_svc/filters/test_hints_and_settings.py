# SPDX-License-Identifier: Apache-2.0
"""Hints about other instances and about addresses, hosts set aside for images, and what a tree must have."""

import dataclasses

import pytest

from rpcapi.model.groups import RequestGroup
from scheduler_svc.filters.options import Options
from tests.unit.scheduler_svc.filters.cloud import passing, telling
from tests.unit.scheduler_svc.hosts import node

NODES = {
    **telling("h1/a", host_ip="10.0.0.1"),
    **telling("h1/b", host_ip="10.0.1.1"),
    **telling("h2", host_ip="fd00::1"),
    **telling("h3"),
}
EVERY = list(NODES)
LOCATED = {"u1": "h1/a", "u2": "h2"}


@pytest.mark.parametrize(
    ("given", "same", "different"),
    [
        ("u1", ["h1/a"], ["h1/b", "h2", "h3"]),
        (["u1", "u2", "u9"], ["h1/a", "h2"], ["h1/b", "h3"]),
        (["u9"], [], EVERY),
        ([], EVERY, EVERY),
    ],
)
def test_instances_draw_to_them_and_push_off(given, same, different):
    assert passing("SameHostFilter", NODES, hints={"same_host": given}, located=LOCATED) == same
    assert passing("DifferentHostFilter", NODES, hints={"different_host": given}, located=LOCATED) == different


@pytest.mark.parametrize(
    ("hints", "left"),
    [
        ({}, EVERY),
        ({"build_near_host_ip": "10.0.0.77"}, ["h1/a"]),
        ({"build_near_host_ip": ["10.0.0.77"], "cidr": "/23"}, ["h1/a", "h1/b"]),
        ({"build_near_host_ip": "fd00::77", "cidr": "/64"}, ["h2"]),
        ({"build_near_host_ip": "10.0.0.77", "cidr": "/0"}, ["h1/a", "h1/b"]),
    ],
)
def test_an_address_draws_to_its_network(hints, left):
    assert passing("SimpleCIDRAffinityFilter", NODES, hints=hints) == left


@pytest.mark.parametrize(
    ("image", "restricted", "left"),
    [
        ("mine", True, ["h1/a", "h1/b"]),
        ("mine", False, ["h1/a", "h1/b"]),
        ("other", True, ["h2", "h3"]),
        (None, True, ["h2", "h3"]),
        ("other", False, EVERY),
    ],
)
def test_hosts_are_set_aside_for_images(image, restricted, left):
    options = Options(isolated_images=frozenset({"mine"}), isolated_hosts=("h1",), restrict_isolated_hosts=restricted)
    assert passing("IsolatedHostsFilter", NODES, options=options, image={"id": image}) == left


def test_hosts_are_set_aside_where_no_image_is():
    options = Options(isolated_hosts=("h1",))
    assert passing("IsolatedHostsFilter", NODES, options=options) == ["h2", "h3"]
    assert passing("IsolatedHostsFilter", NODES, options=dataclasses.replace(options, isolated_hosts=())) == EVERY


def test_a_topology_wants_cells():
    nodes = {**telling("celled", numa=[{"id": 0}]), **telling("flat")}
    assert passing("NUMATopologyFilter", nodes, numa={"cells": [{"id": 0}]}) == ["celled"]
    assert passing("NUMATopologyFilter", nodes) == ["celled", "flat"]


def test_devices_are_counted_over_all_groups_that_ask_for_them():
    device = "CUSTOM_PCI_8086_1520"
    nodes = {"two": node({device: 2}), "three": node({device: 3}), "none": node()}
    groups = (
        RequestGroup("_pci0", {device: 1}),
        RequestGroup("_pci1", {device: 2}),
        RequestGroup("_dev0", {"VGPU": 9}),
    )
    assert passing("PciPassthroughFilter", nodes, groups=groups) == ["three"]
    assert passing("PciPassthroughFilter", nodes, groups=groups[:1]) == ["two", "three"]
    assert passing("PciPassthroughFilter", nodes, groups=groups[2:]) == list(nodes)


def test_every_host_passes_where_no_filter_is_wanted():
    assert passing("AllHostsFilter", NODES) == EVERY
