# SPDX-License-Identifier: Apache-2.0
"""Requests for PCI devices."""

from rpcapi.resources.groups import RequestGroup
from tests.support.scheduler.hosts import child_provider, node
from tests.unit.scheduler_svc.core.filters.cloud import passing_hosts


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


def test_devices_of_all_providers_of_a_tree_are_summed():
    nodes = {
        "tree": node(),
        "tree/pci0": child_provider("tree", "tree", {"CUSTOM_PCI_A": 1}),
        "tree/pci1": child_provider("tree", "tree", {"CUSTOM_PCI_A": 1}),
        "flat": node({"CUSTOM_PCI_A": 1}),
    }
    for amount, expected in ((1, ["tree", "flat"]), (2, ["tree"]), (3, [])):
        groups = (RequestGroup("_pci0", {"CUSTOM_PCI_A": amount}),)
        assert passing_hosts("PciPassthroughFilter", nodes, groups=groups) == expected
