# SPDX-License-Identifier: Apache-2.0
"""Free PCI devices."""

import pytest

from rpcapi.resources.groups import RequestGroup
from scheduler_svc.core.weighers import pci
from scheduler_svc.core.weighers.options import WeigherOptions
from tests.support.nova.nova import compute_node
from tests.support.scheduler.hosts import child_provider, node, request
from tests.unit.scheduler_svc.core.weighers.raw_values import raw_values

WEIGHER = pci.build()
WEIGHER_OF_REPORTS = pci.build(WeigherOptions(reported_devices=True))
NODES = {
    "none": node(),
    "some": node({"CUSTOM_PCI_A": 3, "CUSTOM_GPU": 9}),
    "tree": node(),
    "tree/pci": child_provider("tree", "tree", {"CUSTOM_PCI_B": 5}),
    "many": node({"CUSTOM_PCI_A": 500}),
}


def test_number_is_100_minus_the_free_devices_of_the_tree():
    assert raw_values(WEIGHER, NODES, used={"some": {"CUSTOM_PCI_A": 1}}) == [100, 98, 95, 1]


def test_hosts_are_equal_if_there_are_no_devices():
    assert raw_values(WEIGHER, {"a": node(), "b": node({"CUSTOM_GPU": 1})}) is None


@pytest.mark.parametrize(("resources", "devices"), [({}, 3), ({"CUSTOM_PCI_A": 2, "VCPU": 4}, 5)])
def test_step_is_the_number_of_requested_devices(resources, devices):
    groups = (RequestGroup("_pci0", {"CUSTOM_PCI_A": 1}), RequestGroup("_1", {"CUSTOM_PCI_B": 2, "VGPU": 1}))
    assert WEIGHER.step(request(resources, groups=groups)) == devices


def test_reported_devices_count_and_not_those_in_provider_trees():
    free = {"@api/a": 0, "@api/b": 3, "@api/c": 500}
    documents = {name: compute_node(free_pci_devices=count) for name, count in free.items()}
    documents["@api/d"] = compute_node()  # a document of an older bridge
    nodes = {name: node({"CUSTOM_PCI_A": 7}) for name in documents}
    assert raw_values(WEIGHER_OF_REPORTS, nodes, documents={"compute_node": documents}) == [100, 97, 1, 100]
